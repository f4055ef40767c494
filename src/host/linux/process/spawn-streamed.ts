import { closeSync, readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import type { ProcessIdentity, RunningProgram, StreamedCommand, TerminalSize } from '../../processes.ts';
import { parseProcStat } from '../proc/proc-stat.ts';
import { errnoCode } from '../sys/errno-code.ts';
import type { ChildDescriptor } from '../sys/posix-spawn.ts';
import type { PseudoTerminal } from '../terminal/pseudo-terminal.ts';
import { childrenOf, killDescendantsOf, killTree, sendSignal } from './kill-tree.ts';
import { asProcessStartError } from './spawn-program.ts';

const COLLECT_MS = 500;
const MAX_STDERR_BYTES = 64 * 1024;

/** Starts a program in a new session, with pipes or a terminal. */
export async function spawnStreamed(command: StreamedCommand): Promise<RunningProgram> {
  if (command.streams === 'terminal') {
    const { terminalSocket } = command;
    return terminalSocket === undefined ? spawnInTerminal(command) : spawnWithOwnTerminal(command, terminalSocket);
  }
  const { identity, exited, ours } = await startProgram(command, [
    command.streams === 'all' ? 'reads' : null,
    'writes',
    'writes',
  ]);
  const [input, output, errors] = ours;
  const stdin = input === undefined ? undefined : new Socket({ fd: input, readable: false, writable: true });
  const [stdout, stderr] = [outputStream(output), outputStream(errors)];
  stdin?.on('error', () => {}); // a program may end without reading its input
  onExit(exited, () => stdin?.destroy());
  return {
    ...identity,
    stdout: untilClosed(stdout),
    stderr: untilClosed(stderr),
    write: (data) => writeInput(stdin, data),
    closeInput: () => stdin?.end(),
    resize: async () => {},
    exited,
    kill: () =>
      killProgram({ identity, exited }, () => {
        for (const stream of [stdin, stdout, stderr]) stream?.destroy();
      }),
  };
}

function outputStream(fd: number | undefined): Socket {
  if (fd === undefined) throw new Error('a program was started without an output');
  return new Socket({ fd, readable: true, writable: false });
}

async function spawnInTerminal(command: StreamedCommand): Promise<RunningProgram> {
  const { openPseudoTerminal, resizeTerminalOf } = await import('../terminal/pseudo-terminal.ts');
  const { terminal, programEnd } = openPseudoTerminal();
  try {
    const started = await startProgram(command, [programEnd.fd, programEnd.fd, programEnd.fd]);
    return inTerminal(started, terminal, resizeTerminalOf);
  } catch (error) {
    terminal.close();
    throw error;
  } finally {
    // The output ends only when all descriptors of the program's end are closed.
    programEnd.close();
  }
}

function inTerminal(
  { identity, exited }: StartedProgram,
  terminal: PseudoTerminal,
  resizeTerminalOf: (pid: number, size: TerminalSize) => boolean,
): RunningProgram {
  let isRunning = true;
  onExit(exited, () => {
    isRunning = false;
  });
  return {
    ...identity,
    stdout: terminal.output,
    stderr: nothing(),
    write: terminal.write,
    closeInput: () => void terminal.write(Uint8Array.of(4)),
    resize: async (size) => {
      terminal.resize(size);
      if (!isRunning) return;
      sendSignal(identity.pid, 'SIGWINCH'); // it has no controlling terminal, so the kernel does not signal it
      // crun does not pass its own terminal's size on to the terminal in the container.
      for (const below of childrenOf(identity.pid)) resizeTerminalOf(below, size);
    },
    exited,
    kill: () => killProgram({ identity, exited }, terminal.close),
  };
}

/** The program creates the terminal and sends its descriptor. */
async function spawnWithOwnTerminal(command: StreamedCommand, socketPath: string): Promise<RunningProgram> {
  const [{ openTerminalListener }, { terminalOnDescriptor }] = await Promise.all([
    import('../terminal/terminal-listener.ts'),
    import('../terminal/pseudo-terminal.ts'),
  ]);
  const listener = openTerminalListener(socketPath);
  const programEnded = new AbortController();
  const terminal = listener
    .receive(programEnded.signal)
    .then(terminalOnDescriptor)
    .catch(() => undefined);
  const { identity, exited, ours } = await startProgram(command, [null, null, 'writes']).catch((error: unknown) => {
    programEnded.abort();
    throw error;
  });
  onExit(exited, () => programEnded.abort());
  const errors = collectOutput(outputStream(ours[2]));
  const write = async (data: Uint8Array): Promise<void> => (await terminal)?.write(data);
  return {
    ...identity,
    stdout: outputOf(terminal),
    stderr: chunksOf(errors),
    write,
    closeInput: () => void write(Uint8Array.of(4)),
    resize: async (size) => (await terminal)?.resize(size),
    exited,
    kill: () =>
      killProgram({ identity, exited }, () => {
        terminal.then((ours) => ours?.close()).catch(() => {}); // it never rejects
      }),
  };
}

async function* outputOf(terminal: Promise<PseudoTerminal | undefined>): AsyncGenerator<Uint8Array> {
  const opened = await terminal;
  if (opened) yield* opened.output;
}

async function* chunksOf(chunks: Promise<readonly Uint8Array[]>): AsyncGenerator<Uint8Array> {
  yield* await chunks;
}

/** Read here, because the caller need not read it. */
function collectOutput(stream: Socket): Promise<readonly Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Uint8Array) => {
    bytes += chunk.byteLength;
    if (bytes <= MAX_STDERR_BYTES) chunks.push(chunk);
  });
  stream.on('error', () => {}); // `close` follows
  return new Promise((resolve) => stream.once('close', () => resolve(chunks)));
}

interface StartedProgram {
  readonly identity: ProcessIdentity;
  readonly exited: Promise<number>;
  /** Our ends of its pipes. */
  readonly ours: ReadonlyArray<number | undefined>;
}

async function startProgram(
  { program, args, env, sealed }: StreamedCommand,
  descriptors: readonly ChildDescriptor[],
): Promise<StartedProgram> {
  const [{ spawnInSession }, { exitStatusOf }] = await Promise.all([
    import('../sys/posix-spawn.ts'),
    import('../sys/exit-status.ts'),
  ]);
  const { pid, ours } = spawnInSession({ program, args, env, descriptors, sealed });
  const exited = exitStatusOf(pid);
  try {
    // /proc has a dead process until it is collected.
    const stat = parseProcStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    return { identity: { pid, startTime: stat?.startTime ?? 0 }, exited, ours };
  } catch (error) {
    sendSignal(-pid, 'SIGKILL');
    for (const fd of ours) if (fd !== undefined) closeSync(fd);
    throw asProcessStartError(program, error);
  }
}

function writeInput(stdin: Writable | undefined, data: Uint8Array): Promise<void> {
  if (stdin === undefined || stdin.destroyed || stdin.writableEnded) return Promise.resolve();
  return new Promise((resolve) => {
    stdin.write(data, () => resolve());
  });
}

/** `exited` never rejects. */
function onExit(exited: Promise<number>, work: () => void): void {
  exited.then(work).catch(() => {});
}

/**
 * Kills the descendants first, so that the program can collect them and end by itself: orphaned processes would be collected
 * later. Resolves when the program has ended or has been killed.
 */
async function killProgram(
  { identity, exited }: Omit<StartedProgram, 'ours'>,
  closeStreams: () => void,
): Promise<void> {
  let hasExited = false;
  onExit(exited, () => {
    hasExited = true;
  });
  try {
    const hadChildren = await killDescendantsOf(identity).finally(closeStreams);
    if (hadChildren && (await endsWithin(exited, COLLECT_MS))) return;
    await killTree(identity);
  } catch (error) {
    // EMFILE while reading /proc. The program is a child that is not collected, so its pid is not reused.
    if (!hasExited) for (const target of [-identity.pid, identity.pid]) sendSignal(target, 'SIGKILL');
    throw error;
  }
}

async function endsWithin(exited: Promise<number>, ms: number): Promise<boolean> {
  const timeout = new AbortController();
  const late = setTimeout(ms, false, { signal: timeout.signal }).catch(() => false);
  try {
    return await Promise.race([exited.then(() => true), late]);
  } finally {
    timeout.abort();
  }
}

/** A stream that we close ends like one that the program closes. */
async function* untilClosed(stream: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch (error) {
    if (errnoCode(error) !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
