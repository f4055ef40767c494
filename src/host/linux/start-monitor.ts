import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';
import type { MonitorCommand, MonitorWords } from '../processes.ts';
import { killTree } from './kill-tree.ts';
import { parseProcStat } from './proc-stat.ts';
import { spawnProgram, startError } from './spawn-program.ts';

/** Starts a program that goes on without us, and waits for its first line on descriptor 3. */
export async function startMonitor(command: MonitorCommand, signal: AbortSignal): Promise<MonitorWords> {
  signal.throwIfAborted();
  const child = spawnProgram(command.program, command.args, {
    env: command.env,
    cwd: command.cwd,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
  });
  const [, , errors, toUs, fromUs] = child.stdio;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = (): void => {
    endStart(child);
    reject(signal.reason);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  child.once('error', (error) => reject(startError(command.program, error)));

  const words = { line: '', stderr: '' };
  if (errors instanceof Readable) errors.setEncoding('utf8').on('data', (text: string) => (words.stderr += text));
  if (toUs instanceof Readable) {
    toUs.setEncoding('utf8').on('data', (text: string) => {
      words.line += text;
      if (words.line.includes('\n')) resolve();
    });
    toUs.once('close', resolve);
  }
  if (fromUs instanceof Writable) fromUs.on('error', () => {}).end('\n');
  try {
    await promise;
    return { line: words.line.split('\n', 1)[0] ?? '', stderr: words.stderr };
  } finally {
    signal.removeEventListener('abort', onAbort);
    for (const stream of [errors, toUs, fromUs]) stream?.destroy();
    child.unref();
  }
}

/** Until its first process has ended nothing tells where the program goes on, so both are ended here. */
function endStart({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  const startTime = parseProcStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.startTime;
  if (startTime !== undefined) killTree({ pid, startTime });
}
