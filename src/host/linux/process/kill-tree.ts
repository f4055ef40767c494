import { readdirSync, readFileSync } from 'node:fs';
import type { ProcessIdentity } from '../../processes.ts';
import { type ProcStat, parseProcStat } from '../proc/proc-stat.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { eventLoopTurn } from './event-loop-turn.ts';

/** Processes per turn of the event loop. Containers decide how many there are. */
const BATCH = 100;

/**
 * Kills a process, its descendants, and the process groups of all these. Each process is stopped before its children are
 * read, so that it cannot fork meanwhile. After an error (EMFILE) the others are still killed, and the error is thrown last.
 */
export async function killTree(target: ProcessIdentity): Promise<void> {
  const own = stopped(target);
  if (own === undefined) return;
  try {
    await stopAndKillDescendants(target, own);
  } finally {
    if (statIfSame(target) !== undefined) {
      if (isKillable(own.group)) sendSignal(-own.group, 'SIGKILL');
      sendSignal(target.pid, 'SIGKILL');
    }
  }
}

/** The same without the process itself, which is continued; `false`: it has no descendants. */
export async function killDescendantsOf(target: ProcessIdentity): Promise<boolean> {
  const own = stopped(target);
  if (own === undefined) return false;
  try {
    return (await stopAndKillDescendants(target, own)) > 0;
  } finally {
    if (statIfSame(target) !== undefined) sendSignal(target.pid, 'SIGCONT');
  }
}

/** Returns how many there were. */
async function stopAndKillDescendants(target: ProcessIdentity, { group }: ProcStat): Promise<number> {
  const failures: unknown[] = [];
  const found = await descendantsOf(target, (parent) => stoppedChildren(parent, failures));
  const killed = new Set([group]); // the target's group may have processes that are not descendants
  for (const [index, each] of found.entries()) {
    if (index % BATCH === BATCH - 1) await eventLoopTurn();
    attempt(failures, () => {
      const stat = statIfSame(each);
      if (stat === undefined) return;
      if (!killed.has(stat.group) && isKillable(stat.group)) sendSignal(-stat.group, 'SIGKILL');
      killed.add(stat.group);
      sendSignal(each.pid, 'SIGKILL');
    });
  }
  if (failures.length > 0) throw failures[0];
  return found.length;
}

/**
 * The descendants of a process, the deepest first. In this order a stopped process is killed before its parent: the kernel
 * continues a stopped process that loses its parent. Not recursive: containers decide how deep processes are nested.
 */
export async function descendantsOf(
  target: ProcessIdentity,
  childrenOf: (parent: ProcessIdentity) => Iterable<ProcessIdentity>,
): Promise<readonly ProcessIdentity[]> {
  const found = [target];
  let visited = 0;
  for (const parent of found) {
    for (const child of childrenOf(parent)) {
      found.push(child);
      if (++visited % BATCH === 0) await eventLoopTurn();
    }
  }
  return found.slice(1).reverse();
}

function* stoppedChildren(parent: ProcessIdentity, failures: unknown[]): Generator<ProcessIdentity> {
  const pids = attempt(failures, () => (statIfSame(parent) === undefined ? [] : childrenOf(parent.pid))) ?? [];
  for (const pid of pids) {
    const child = attempt(failures, () => stoppedChild(pid));
    if (child) yield child;
  }
}

function stoppedChild(pid: number): ProcessIdentity | undefined {
  const stat = statOf(pid);
  if (stat === undefined) return undefined;
  sendSignal(pid, 'SIGSTOP');
  return { pid, startTime: stat.startTime };
}

function attempt<T>(failures: unknown[], work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    failures.push(error);
    return undefined;
  }
}

function stopped(target: ProcessIdentity): ProcStat | undefined {
  const stat = statIfSame(target);
  if (stat !== undefined) sendSignal(target.pid, 'SIGSTOP');
  return stat;
}

function isKillable(group: number): boolean {
  return group > 1 && group !== statOf(process.pid)?.group;
}

/** A negative pid means the group. Not an error when the process does not exist. */
export function sendSignal(pid: number, signal: NodeJS.Signals | number): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errnoCode(error) !== 'ESRCH') throw error;
  }
}

/** Pids of its children that have not been collected. */
export function childrenOf(pid: number): number[] {
  const folder = `/proc/${pid}/task`;
  const threads = unlessGone(() => readdirSync(folder)) ?? [];
  return threads.flatMap((thread) => {
    const text = unlessGone(() => readFileSync(`${folder}/${thread}/children`, 'utf8')) ?? '';
    return text.split(' ').filter(Boolean).map(Number);
  });
}

/** `undefined` when it has ended, also when its pid now belongs to another process. */
function statIfSame({ pid, startTime }: ProcessIdentity): ProcStat | undefined {
  const stat = statOf(pid);
  return stat?.startTime === startTime ? stat : undefined;
}

function statOf(pid: number): ProcStat | undefined {
  return parseProcStat(unlessGone(() => readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? '');
}

function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    const code = errnoCode(error);
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
}
