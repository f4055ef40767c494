import { Socket } from 'node:net';
import { constants } from 'node:os';
import { type Command, type CommandResult, ProcessOutputError, UNKNOWN_EXIT_CODE } from '../../processes.ts';
import { errnoCode } from '../sys/errno-code.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A command whose environment is decided. */
export type WithEnvironment<T> = Omit<T, 'env'> & { readonly env: Environment };

/** Runs a program to its end and returns its output. */
export async function runCommand(command: WithEnvironment<Command>, signal: AbortSignal): Promise<CommandResult> {
  // Loaded on first use: many commands never start a program.
  const [{ spawnInSession }, { exitStatusOf }] = await Promise.all([
    import('../sys/posix-spawn.ts'),
    import('../sys/exit-status.ts'),
  ]);
  signal.throwIfAborted();
  const { program, args, env, cwd, input, sealed, maxOutputBytes = Number.POSITIVE_INFINITY } = command;
  const descriptors = [input === undefined ? null : 'reads', 'writes', 'writes'] as const;
  const { pid, ours } = spawnInSession({ program, args, env, cwd, descriptors, sealed });
  const [stdin, ...outputs] = ours;
  feed(stdin, input);
  const streams = outputs.flatMap((fd) => (fd === undefined ? [] : [new Socket({ fd, readable: true })]));
  const overflow = new AbortController();
  const onOverflow = (): void => overflow.abort(new ProcessOutputError(program, maxOutputBytes));
  const written = streams.map((stream) => collect(stream, maxOutputBytes, onOverflow));

  const end = AbortSignal.any([signal, overflow.signal]);
  const onEnd = (): void => {
    killGroup(pid); // it is not collected before the outputs are closed, so its pid is not reused
    // A process that left the group may hold the pipes open forever.
    for (const stream of streams) stream.destroy();
  };
  end.addEventListener('abort', onEnd, { once: true });
  try {
    const [stdout, stderr] = await Promise.all(written);
    end.removeEventListener('abort', onEnd);
    const exitCode = await untilExit(pid, exitStatusOf(pid), end);
    return { exitCode, stdout: stdout ?? new Uint8Array(), stderr: stderr ?? new Uint8Array() };
  } finally {
    end.removeEventListener('abort', onEnd);
  }
}

/** The program may run on after closing its outputs. It can be killed until `status` resolves. */
async function untilExit(pid: number, status: Promise<number>, signal: AbortSignal): Promise<number> {
  const onAbort = (): void => killGroup(pid);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const exitCode = await status;
    signal.throwIfAborted();
    return exitCode;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function feed(fd: number | undefined, input: string | Uint8Array | undefined): void {
  if (fd === undefined || input === undefined) return;
  const stream = new Socket({ fd, readable: false, writable: true });
  stream.on('error', () => {}); // a program may end without reading its input
  stream.end(input);
}

/** From the arguments of a child's `exit` event; 128 + number for a signal, as shells return it. */
export function exitCodeOf(code: number | null, killedBy: NodeJS.Signals | null): number {
  return killedBy === null ? (code ?? UNKNOWN_EXIT_CODE) : 128 + constants.signals[killedBy];
}

/** Resolves with the whole output when the stream has closed, also if we closed it. */
function collect(stream: Socket, maxBytes: number, onOverflow: () => void): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  return new Promise((resolve) => {
    stream.on('data', (chunk: Uint8Array) => {
      bytes += chunk.byteLength;
      if (bytes <= maxBytes) chunks.push(chunk);
      else onOverflow();
    });
    stream.on('error', () => {}); // `close` follows
    stream.once('close', () => resolve(new Uint8Array(Buffer.concat(chunks))));
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (errnoCode(error) !== 'ESRCH') throw error;
  }
}
