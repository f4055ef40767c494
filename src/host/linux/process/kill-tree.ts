import { readdirSync, readFileSync } from 'node:fs';
import type { ProcessIdentity } from '../../processes.ts';
import { parseProcStat } from '../proc/proc-stat.ts';
import { errnoCode } from '../sys/errno-code.ts';

/**
 * Kills a process, what it started, and the process groups of all these. Synchronous, so that nothing of ours comes
 * between looking and killing; the process itself is stopped first, so that it starts nothing more meanwhile.
 */
export function killTree(target: ProcessIdentity): void {
  if (stopAndKillBelow(target) === undefined) return;
  const group = statOf(target.pid)?.group;
  if (group !== undefined && isKillable(group)) sendSignal(-group, 'SIGKILL');
  sendSignal(target.pid, 'SIGKILL'); // it is still stopped, so it cannot end in another way before
}

/** The same without the process itself, which goes on; `false` when there is nothing below it. */
export function killBelow(target: ProcessIdentity): boolean {
  const killed = stopAndKillBelow(target);
  if (killed === undefined) return false;
  sendSignal(target.pid, 'SIGCONT');
  return killed > 0;
}

/** How many were killed; `undefined`: there is no such process. */
function stopAndKillBelow({ pid, startTime }: ProcessIdentity): number | undefined {
  const own = statOf(pid);
  if (own?.startTime !== startTime) return undefined;
  sendSignal(pid, 'SIGSTOP');
  const below = descendants(pid);
  const groups = new Set(below.map((each) => statOf(each)?.group ?? 0));
  for (const group of groups) if (group !== own.group && isKillable(group)) sendSignal(-group, 'SIGKILL');
  for (const each of below) sendSignal(each, 'SIGKILL');
  return below.length;
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

function descendants(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendants(child)]);
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

function statOf(pid: number) {
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
