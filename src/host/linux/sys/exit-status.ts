import koffi from 'koffi';
import { openPidfd, untilReady } from './loop-socket.ts';

const waitpid = koffi.load('libc.so.6').func('int waitpid(int pid, _Out_ int *status, int options)');

const WNOHANG = 1;
const never = new AbortController().signal;

/**
 * How a child of ours ended, as shells tell it: 128 + signal. It is collected here: until then its number is not given to
 * another one.
 */
export async function exitStatusOf(pid: number): Promise<number> {
  const fd = openPidfd(pid);
  if (fd !== undefined) await untilReady(fd, never);
  return collect(pid) ?? 0;
}

/** `undefined`: it runs. */
function collect(pid: number): number | undefined {
  const status = [0];
  if (waitpid(pid, status, WNOHANG) !== pid) return undefined;
  const [number = 0] = status;
  const killedBy = number & 0x7f;
  return killedBy === 0 ? (number >> 8) & 0xff : 128 + killedBy;
}
