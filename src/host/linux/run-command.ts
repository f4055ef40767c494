import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { type Command, type Finished, ProcessOutputError } from '../processes.ts';
import { errnoCode } from './errno-code.ts';
import { spawnProgram, startError } from './spawn-program.ts';

/** Runs a program to its end and keeps what it wrote. */
export async function runCommand(command: Command, signal: AbortSignal): Promise<Finished> {
  signal.throwIfAborted();
  const child = spawnProgram(command.program, command.args, {
    ...(command.env ? { env: command.env } : {}),
    ...(command.cwd === undefined ? {} : { cwd: command.cwd }),
    stdio: [command.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    detached: true, // a session and a process group of its own, which can be killed as a whole
  });
  const flood = new AbortController();
  const { program, maxOutputBytes = Number.POSITIVE_INFINITY } = command;
  const onFlood = (): void => flood.abort(new ProcessOutputError(program, maxOutputBytes));
  const stdout = collect(child.stdout, maxOutputBytes, onFlood);
  const stderr = collect(child.stderr, maxOutputBytes, onFlood);
  // A program may end without reading its input.
  child.stdin?.on('error', () => {});
  child.stdin?.end(command.input);

  const end = AbortSignal.any([signal, flood.signal]);
  const onEnd = (): void => killGroup(child);
  end.addEventListener('abort', onEnd, { once: true });
  try {
    const exitCode = await exitOf(child, program, end);
    return { exitCode, stdout: joined(stdout), stderr: joined(stderr) };
  } finally {
    end.removeEventListener('abort', onEnd);
  }
}

/** Resolves when the program has ended and its output is read to the end. */
function exitOf(child: ChildProcess, program: string, signal: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(startError(program, error)));
    child.once('exit', () => {
      if (!signal.aborted) return;
      // Whoever left the group may hold the pipes open for ever.
      child.stdout?.destroy();
      child.stderr?.destroy();
    });
    child.once('close', (code, killedBy) => {
      if (signal.aborted) reject(signal.reason);
      else resolve(exitCodeOf(code, killedBy));
    });
  });
}

/** 128 + number for a signal, as shells tell it. */
export function exitCodeOf(code: number | null, killedBy: NodeJS.Signals | null): number {
  return killedBy === null ? (code ?? 0) : 128 + constants.signals[killedBy];
}

function collect(stream: Readable | null, maxBytes: number, onFlood: () => void): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  stream?.on('data', (chunk: Uint8Array) => {
    bytes += chunk.byteLength;
    if (bytes <= maxBytes) chunks.push(chunk);
    else onFlood();
  });
  return chunks;
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(chunks));
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if (errnoCode(error) !== 'ESRCH') throw error;
  }
}
