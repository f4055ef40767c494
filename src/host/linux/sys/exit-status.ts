import { setTimeout as sleep } from 'node:timers/promises';
import koffi from 'koffi';
import { openPidfd, untilReady } from './loop-socket.ts';

const waitpid = koffi.load('libc.so.6').func('int waitpid(int pid, _Out_ int *status, int options)');

const WNOHANG = 1;
const POLL_MS = 50;
const never = new AbortController().signal;

/**
 * How a child of ours ended, as shells tell it: 128 + signal. It is collected here: until then its number is not given to
 * another one. Never rejects: without a descriptor to wait with (EMFILE) the kernel is asked again and again.
 */
export async function exitStatusOf(pid: number): Promise<number> {
  try {
    const fd = openPidfd(pid);
    if (fd !== undefined) await untilReady(fd, never);
  } catch {
    return polledStatus(pid);
  }
  return collect(pid) ?? 0;
}

async function polledStatus(pid: number): Promise<number> {
  for (let status = collect(pid); ; status = collect(pid)) {
    if (status !== undefined) return status;
    await sleep(POLL_MS);
  }
}

/** `undefined`: it runs. One that is collected already has 0. */
function collect(pid: number): number | undefined {
  const status = [0];
  const found = waitpid(pid, status, WNOHANG);
  if (found === 0) return undefined;
  if (found !== pid) return 0;
  const [number = 0] = status;
  const killedBy = number & 0x7f;
  return killedBy === 0 ? (number >> 8) & 0xff : 128 + killedBy;
}
