import { readdirSync, readFileSync } from 'node:fs';
import type { ProcessIdentity } from '../../processes.ts';
import { type ProcStat, parseProcStat } from '../proc/proc-stat.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { eventLoopTurn } from './event-loop-turn.ts';

/** So many processes are looked at in one turn of the event loop. A tree has as many as its processes like. */
const BATCH = 100;

/**
 * Kills a process, what it started, and the process groups of all these. Each is stopped before its children are read, so
 * that it starts no more meanwhile. A failure (EMFILE) does not keep the others from being killed, and is thrown at the end.
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

/** The same without the process itself, which goes on; `false` when there is nothing below it. */
export async function killDescendantsOf(target: ProcessIdentity): Promise<boolean> {
  const own = stopped(target);
  if (own === undefined) return false;
  try {
    return (await stopAndKillDescendants(target, own)) > 0;
  } finally {
    if (statIfSame(target) !== undefined) sendSignal(target.pid, 'SIGCONT');
  }
}

/** How many there were. */
async function stopAndKillDescendants(target: ProcessIdentity, { group }: ProcStat): Promise<number> {
  const failures: unknown[] = [];
  const found = await descendantsOf(target, (parent) => stoppedChildren(parent, failures));
  const killed = new Set([group]); // that of the target may be shared with what is to go on
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
 * What is below a process, the deepest first. In this order a stopped process is killed before its parent: one that loses
 * its parent is continued by the kernel. No recursion: a container decides how deep its processes are nested.
 */
export async function descendantsOf(
  target: ProcessIdentity,
  childrenOf: (parent: ProcessIdentity) => Iterable<ProcessIdentity>,
): Promise<readonly ProcessIdentity[]> {
  const found = [target];
  let looks = 0;
  for (const parent of found) {
    for (const child of childrenOf(parent)) {
      found.push(child);
      if (++looks % BATCH === 0) await eventLoopTurn();
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

/** A negative number means the group. No error when there is none. */
export function sendSignal(pid: number, signal: NodeJS.Signals | number): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errnoCode(error) !== 'ESRCH') throw error;
  }
}

/** Numbers of the processes that it started and that have not been collected. */
export function childrenOf(pid: number): number[] {
  const folder = `/proc/${pid}/task`;
  const threads = unlessGone(() => readdirSync(folder)) ?? [];
  return threads.flatMap((thread) => {
    const text = unlessGone(() => readFileSync(`${folder}/${thread}/children`, 'utf8')) ?? '';
    return text.split(' ').filter(Boolean).map(Number);
  });
}

/** `undefined` when it has ended, also when its number belongs to another process now. */
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
