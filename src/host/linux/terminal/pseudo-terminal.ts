import { closeSync, openSync, statSync } from 'node:fs';
import type { Socket } from 'node:net';
import { ReadStream } from 'node:tty';
import type { TerminalSize } from '../../processes.ts';
import {
  duplicateDescriptor,
  openTerminalMaster,
  openTerminalPeer,
  setTerminalSize,
  unlockTerminal,
} from '../sys/descriptor-calls.ts';
import { openDescriptorStream } from '../sys/descriptor-stream.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { SystemCallError } from '../sys/system-call-error.ts';

const O_RDWR = 0o2;
const O_NOCTTY = 0o400;
const O_NONBLOCK = 0o4000;
const O_CLOEXEC = 0o2000000;
/** The first of the eight major numbers of the terminals in /dev/pts. */
const PTS_MAJOR = 136;

/** Our end of a terminal. */
export interface PseudoTerminal {
  /** Ends when the last descriptor of the other end is closed. */
  readonly output: AsyncIterable<Uint8Array>;
  /** Resolves when the terminal has accepted the data, or is closed. */
  write(data: Uint8Array): Promise<void>;
  resize(size: TerminalSize): void;
  close(): void;
}

/** A new terminal, and the descriptor that its program gets. */
export function openPseudoTerminal(): {
  readonly terminal: PseudoTerminal;
  readonly programEnd: { readonly fd: number; close(): void };
} {
  const fd = openTerminalMaster(O_RDWR | O_NOCTTY | O_CLOEXEC);
  unlockTerminal(fd);
  const programFd = openTerminalPeer(fd, O_RDWR | O_NOCTTY | O_CLOEXEC);
  return { terminal: terminalOnDescriptor(fd), programEnd: { fd: programFd, close: () => closeSync(programFd) } };
}

/** Owns the descriptor. */
export function terminalOnDescriptor(fd: number): PseudoTerminal {
  const stream = openReadStream(fd);
  stream.on('error', () => {}); // the reader of `output` gets it
  const input = openInput(fd, stream);
  input.on('error', () => {}); // the program has ended
  stream.once('close', () => input.destroy());
  return {
    output: readUntilHangUp(stream),
    write: (data) => writeInput(input, data),
    resize: (size) => {
      if (!stream.destroyed) setTerminalSize(fd, size);
    },
    close: () => stream.destroy(),
  };
}

/** Owns the descriptor, also when it throws, and makes it non-blocking. */
function openReadStream(fd: number): ReadStream {
  try {
    return new ReadStream(fd);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Uses a descriptor of its own: input that the terminal does not accept yet must not block its output. */
function openInput(fd: number, stream: ReadStream): Socket {
  try {
    return openDescriptorStream(duplicateDescriptor(fd), { readable: false, writable: true });
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

function writeInput(input: Socket, data: Uint8Array): Promise<void> {
  if (input.destroyed || data.byteLength === 0) return Promise.resolve();
  return new Promise((resolve) => {
    input.write(data, () => resolve());
  });
}

/** Resizes the terminal that is one of a process's three streams; `false`: none is a terminal. */
export function resizeTerminalOf(pid: number, size: TerminalSize): boolean {
  return [0, 1, 2].some((descriptor) => resizeTerminalAt(`/proc/${pid}/fd/${descriptor}`, size));
}

function resizeTerminalAt(path: string, size: TerminalSize): boolean {
  let fd: number | undefined;
  try {
    const major = statSync(path).rdev >> 8;
    if (major < PTS_MAJOR || major >= PTS_MAJOR + 8) return false;
    fd = openSync(path, O_RDWR | O_NOCTTY | O_NONBLOCK);
    setTerminalSize(fd, size);
    return true;
  } catch (error) {
    // The process has ended meanwhile. EIO: the other end of the terminal is closed.
    if (error instanceof SystemCallError || ['ENOENT', 'ESRCH', 'EIO'].includes(errnoCode(error) ?? '')) return false;
    throw error;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

async function* readUntilHangUp(stream: ReadStream): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch (error) {
    // EIO: the other end is closed. A premature close: we have closed ours.
    if (errnoCode(error) !== 'EIO' && errnoCode(error) !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}
