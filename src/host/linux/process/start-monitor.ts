import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import type { MonitorCommand, MonitorOutput } from '../../processes.ts';
import { parseProcStat } from '../proc/proc-stat.ts';
import { killTree } from './kill-tree.ts';

/** Starts a program that goes on without us, and waits for its first line on descriptor 3. */
export async function startMonitor(command: MonitorCommand, signal: AbortSignal): Promise<MonitorOutput> {
  // Many commands never need it.
  const [{ spawnInSession }, { exitStatusOf }] = await Promise.all([
    import('../sys/posix-spawn.ts'),
    import('../sys/exit-status.ts'),
  ]);
  signal.throwIfAborted();
  const { pid, ours } = spawnInSession({ ...command, descriptors: [null, null, 'writes', 'writes', 'reads'] });
  const [, , errors, toUs, fromUs] = ours.map((fd, descriptor) => streamOf(fd, descriptor !== 4));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let ending: Promise<void> | undefined;
  const onAbort = (): void => {
    ending = endStart(pid).catch(() => {}); // the caller sees to what is left
    reject(signal.reason);
  };
  signal.addEventListener('abort', onAbort, { once: true });

  const words = { line: '', stderr: '' };
  errors?.setEncoding('utf8').on('data', (text: string) => (words.stderr += text));
  toUs?.setEncoding('utf8').on('data', (text: string) => {
    words.line += text;
    if (words.line.includes('\n')) resolve();
  });
  toUs?.once('close', resolve);
  fromUs?.end('\n');
  try {
    await promise;
    return { line: words.line.split('\n', 1)[0] ?? '', stderr: words.stderr };
  } finally {
    signal.removeEventListener('abort', onAbort);
    for (const stream of [errors, toUs, fromUs]) stream?.destroy();
    await ending; // until it is collected its number is its own
    exitStatusOf(pid).catch(() => {}); // it has left the rest to its child by now, or is about to
  }
}

function streamOf(fd: number | undefined, readable: boolean): Socket | undefined {
  if (fd === undefined) return undefined;
  return new Socket({ fd, readable, writable: !readable }).on('error', () => {}); // `close` follows
}

/** Until its first process has ended nothing tells where the program goes on, so both are ended here. */
async function endStart(pid: number): Promise<void> {
  const stat = parseProcStat(readFileSync(`/proc/${pid}/stat`, 'utf8')); // it is not collected yet, so it is there
  if (stat !== undefined && stat.state !== 'Z') await killTree({ pid, startTime: stat.startTime });
}
