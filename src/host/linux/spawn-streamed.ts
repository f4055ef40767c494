import type { ChildProcess, StdioOptions } from 'node:child_process';
import { closeSync, readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import type {
  ProcessIdentity,
  ProcessStartError,
  RunningProgram,
  StreamedCommand,
  TerminalSize,
} from '../processes.ts';
import { errnoCode } from './errno-code.ts';
import { childrenOf, killBelow, killTree } from './kill-tree.ts';
import type { ProgramPipe } from './posix-spawn.ts';
import { parseProcStat } from './proc-stat.ts';
import type { PseudoTerminal } from './pseudo-terminal.ts';
import { exitCodeOf } from './run-command.ts';
import { spawnProgram, startError } from './spawn-program.ts';

const COLLECT_MS = 500;

/** Starts a program in a session of its own, with pipes or a terminal. */
export async function spawnStreamed(command: StreamedCommand): Promise<RunningProgram> {
  if (command.streams === 'terminal') return spawnInTerminal(command);
  const { newPipe } = await import('./posix-spawn.ts');
  const input = command.streams === 'all' ? newPipe('reads', command.program) : undefined;
  const outputs = [newPipe('writes', command.program), newPipe('writes', command.program)] as const;
  const stdin = input && new Socket({ fd: input.ours, readable: false, writable: true });
  const [stdout, stderr] = [outputStream(outputs[0]), outputStream(outputs[1])];
  const closeStreams = (): void => {
    for (const stream of [stdin, stdout, stderr]) stream?.destroy();
  };
  stdin?.on('error', () => {}); // a program may end without reading its input
  const { identity, exited } = await startWithPipes(command, [input, ...outputs]).catch((error: unknown) => {
    closeStreams();
    throw error;
  });
  void exited.then(() => stdin?.destroy());
  return {
    ...identity,
    stdout: untilClosed(stdout),
    stderr: untilClosed(stderr),
    write: (data) => written(stdin, data),
    closeInput: () => stdin?.end(),
    resize: async () => {},
    exited,
    kill: async () => {
      endProgram(identity, exited);
      closeStreams();
    },
  };
}

function outputStream({ ours }: ProgramPipe): Socket {
  return new Socket({ fd: ours, readable: true, writable: false });
}

async function startWithPipes(
  command: StreamedCommand,
  pipes: ReadonlyArray<ProgramPipe | undefined>,
): Promise<Started> {
  try {
    return await startProgram(
      command,
      pipes.map((pipe) => pipe?.theirs ?? 'ignore'),
    );
  } finally {
    // While we hold the program's ends open, its output never ends.
    for (const pipe of pipes) if (pipe !== undefined) closeSync(pipe.theirs);
  }
}

async function spawnInTerminal(command: StreamedCommand): Promise<RunningProgram> {
  const { openPseudoTerminal, resizeTerminalOf } = await import('./pseudo-terminal.ts');
  const { terminal, programEnd } = openPseudoTerminal();
  try {
    const started = await startProgram(command, [programEnd.fd, programEnd.fd, programEnd.fd]);
    return inTerminal(started, terminal, resizeTerminalOf);
  } catch (error) {
    terminal.close();
    throw error;
  } finally {
    // While we hold the program's end open, its output never ends.
    programEnd.close();
  }
}

function inTerminal(
  { child, identity, exited }: Started,
  terminal: PseudoTerminal,
  resizeTerminalOf: (pid: number, size: TerminalSize) => void,
): RunningProgram {
  return {
    ...identity,
    stdout: terminal.output,
    stderr: nothing(),
    write: terminal.write,
    closeInput: () => void terminal.write(Uint8Array.of(4)),
    resize: async (size) => {
      terminal.resize(size);
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGWINCH'); // it has no controlling terminal, so the kernel tells it nothing
      for (const below of childrenOf(identity.pid)) resizeTerminalOf(below, size);
    },
    exited,
    kill: async () => {
      endProgram(identity, exited);
      terminal.close();
    },
  };
}

interface Started {
  readonly child: ChildProcess;
  readonly identity: ProcessIdentity;
  readonly exited: Promise<number>;
}

async function startProgram(command: StreamedCommand, stdio: StdioOptions): Promise<Started> {
  const { program, args, env } = command;
  const child = spawnProgram(program, args, { env, stdio, detached: true });
  const exited = new Promise<number>((resolve) => child.once('exit', (code, by) => resolve(exitCodeOf(code, by))));
  // At once and synchronously: a child that is dead already can be read until the event loop collects it.
  const stat = child.pid === undefined ? undefined : parseProcStat(readFileSync(`/proc/${child.pid}/stat`, 'utf8'));
  if (child.pid === undefined || stat === undefined) {
    throw await new Promise<ProcessStartError>((resolve) => {
      child.once('error', (error) => resolve(startError(program, error)));
    });
  }
  return { child, identity: { pid: child.pid, startTime: stat.startTime }, exited };
}

function written(stdin: Writable | undefined, data: Uint8Array): Promise<void> {
  if (stdin === undefined || stdin.destroyed || stdin.writableEnded) return Promise.resolve();
  return new Promise((resolve) => {
    stdin.write(data, () => resolve());
  });
}

/**
 * What the program started is killed first, and it may collect that and end by itself: nobody else does so quickly for
 * processes whose parent is gone.
 */
function endProgram(identity: ProcessIdentity, exited: Promise<number>): void {
  if (!killBelow(identity)) return killTree(identity);
  const impatience = setTimeout(() => killTree(identity), COLLECT_MS);
  void exited.then(() => clearTimeout(impatience));
}

/** What we close ourselves ends like what the program closes. */
async function* untilClosed(stream: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch (error) {
    if (errnoCode(error) !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
