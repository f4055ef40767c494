import { setTimeout as sleep } from 'node:timers/promises';
import { UNKNOWN_EXIT_CODE } from '../../processes.ts';
import { untilReady } from './descriptor-stream.ts';
import { openPidfd } from './event-calls.ts';
import { waitpid } from './process-calls.ts';

const WNOHANG = 1;
const POLL_MS = 50;
const never = new AbortController().signal;

/**
 * Collects a child and returns its exit status as shells do: 128 + signal. The pid is not reused until then. Never rejects:
 * without a descriptor to wait with (EMFILE) the child is polled.
 */
export async function exitStatusOf(pid: number): Promise<number> {
  try {
    const fd = openPidfd(pid);
    if (fd !== undefined) await untilReady(fd, never);
  } catch {
    // Polled instead.
  }
  for (let status = collect(pid); ; status = collect(pid)) {
    if (status !== undefined) return status;
    await sleep(POLL_MS);
  }
}

/** `undefined`: it still runs. */
function collect(pid: number): number | undefined {
  const status = [0];
  try {
    if (waitpid(pid, status, WNOHANG) === 0) return undefined;
  } catch {
    return UNKNOWN_EXIT_CODE; // ECHILD: it was collected before, or is not a child of this process
  }
  const [number = 0] = status;
  const signal = number & 0x7f;
  return signal === 0 ? (number >> 8) & 0xff : 128 + signal;
}
