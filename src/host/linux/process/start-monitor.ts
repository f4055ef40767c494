import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import type { MonitorCommand, MonitorOutput } from '../../processes.ts';
import { parseProcStat } from '../proc/proc-stat.ts';
import { killTree } from './kill-tree.ts';

/** Starts a program that outlives the agent, and waits for its first line on descriptor 3. */
export async function startMonitor(command: MonitorCommand, signal: AbortSignal): Promise<MonitorOutput> {
  // Loaded on first use: many commands never start a monitor.
  const [{ spawnInSession }, { exitStatusOf }] = await Promise.all([
    import('../sys/posix-spawn.ts'),
    import('../sys/exit-status.ts'),
  ]);
  signal.throwIfAborted();
  const { pid, ours } = spawnInSession({ ...command, descriptors: [null, null, 'writes', 'writes', 'reads'] });
  const [, , errors, toUs, fromUs] = ours.map((fd, descriptor) => streamOf(fd, descriptor !== 4));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let ending: Promise<void> | undefined;
  const fail = (error: unknown): void => {
    ending = endStart(pid).catch(() => {}); // the caller cleans up
    reject(error);
  };
  const onAbort = (): void => fail(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });

  const output = { line: '', stderr: '' };
  errors?.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  toUs?.setEncoding('utf8').on('data', (text: string) => {
    output.line += text;
    if (output.line.includes('\n')) resolve();
  });
  toUs?.once('close', resolve);
  const prepared = command.whileWaiting?.(pid) ?? Promise.resolve();
  prepared.then(() => void fromUs?.end('\n'), fail);
  try {
    await promise;
    return { line: output.line.split('\n', 1)[0] ?? '', stderr: output.stderr };
  } finally {
    signal.removeEventListener('abort', onAbort);
    for (const stream of [errors, toUs, fromUs]) stream?.destroy();
    await ending; // its pid is not reused until it is collected
    exitStatusOf(pid).catch(() => {}); // it forks and exits; its child goes on
  }
}

function streamOf(fd: number | undefined, readable: boolean): Socket | undefined {
  if (fd === undefined) return undefined;
  return new Socket({ fd, readable, writable: !readable }).on('error', () => {}); // `close` follows
}

/** The pid of the forked child is not known until the first process has ended, so both are killed here. */
async function endStart(pid: number): Promise<void> {
  const stat = parseProcStat(readFileSync(`/proc/${pid}/stat`, 'utf8')); // it is not collected yet, so /proc has it
  if (stat !== undefined && stat.state !== 'Z') await killTree({ pid, startTime: stat.startTime });
}
