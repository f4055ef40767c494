import { closeSync, openSync, statSync } from 'node:fs';
import type { Socket } from 'node:net';
import { ReadStream } from 'node:tty';
import koffi from 'koffi';
import type { TerminalSize } from '../../processes.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { loopSocket } from '../sys/loop-socket.ts';

const O_RDWR = 0o2;
const O_NOCTTY = 0o400;
const O_NONBLOCK = 0o4000;
const O_CLOEXEC = 0o2000000;
const F_DUPFD_CLOEXEC = 1030;
const TIOCGPTPEER = 0x5441;
const TIOCSPTLCK = 0x40045431;
const TIOCSWINSZ = 0x5414;
/** Of the terminals in /dev/pts; there are eight such numbers. */
const PTS_MAJOR = 136;

const libc = koffi.load('libc.so.6');
const posixOpenpt = libc.func('int posix_openpt(int flags)');
const ioctlNumber = libc.func('ioctl', 'int', ['int', 'unsigned long', 'unsigned long']);
const duplicate = libc.func('fcntl', 'int', ['int', 'int', 'int']);
const ioctlBytes = libc.func('ioctl', 'int', ['int', 'unsigned long', koffi.pointer('uint8_t')]);

/** Our end of a terminal. */
export interface PseudoTerminal {
  /** Ends when nobody holds the other end any more. */
  readonly output: AsyncIterable<Uint8Array>;
  write(data: Uint8Array): Promise<void>;
  resize(size: TerminalSize): void;
  close(): void;
}

/** A new terminal, and the descriptor that its program gets. */
export function openPseudoTerminal(): {
  readonly terminal: PseudoTerminal;
  readonly programEnd: { readonly fd: number; close(): void };
} {
  const fd = checked('posix_openpt', posixOpenpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  checked('ioctl TIOCSPTLCK', ioctlBytes(fd, TIOCSPTLCK, new Uint8Array(4)));
  // By descriptor, not by name: /dev/pts need not be the one of /dev/ptmx.
  const programFd = checked('ioctl TIOCGPTPEER', ioctlNumber(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  return { terminal: ourEnd(fd), programEnd: { fd: programFd, close: () => closeSync(programFd) } };
}

/** Owns the descriptor. */
export function ourEnd(fd: number): PseudoTerminal {
  const stream = readStreamOf(fd);
  stream.on('error', () => {}); // whoever reads is told; an end that nobody reads is none of ours
  const input = inputTo(fd, stream);
  input.on('error', () => {}); // the program is gone
  stream.once('close', () => input.destroy());
  return {
    output: untilHangUp(stream),
    write: (data) => written(input, data),
    resize: ({ width, height }) => {
      if (stream.destroyed) return;
      checked('ioctl TIOCSWINSZ', ioctlBytes(fd, TIOCSWINSZ, sizeBytes({ width, height })));
    },
    close: () => stream.destroy(),
  };
}

/** Owns the descriptor from here on, also when it throws, and makes it non-blocking. */
function readStreamOf(fd: number): ReadStream {
  try {
    return new ReadStream(fd);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** By a descriptor of its own: what waits until the terminal takes more must not be in the way of what it says. */
function inputTo(fd: number, stream: ReadStream): Socket {
  try {
    return loopSocket(checked('fcntl', duplicate(fd, F_DUPFD_CLOEXEC, 0)), { readable: false, writable: true });
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

/** Resolves when the terminal has it, or is gone. */
function written(input: Socket, data: Uint8Array): Promise<void> {
  if (input.destroyed || data.byteLength === 0) return Promise.resolve();
  return new Promise((resolve) => {
    input.write(data, () => resolve());
  });
}

/** Resizes the terminal that is one of a process's three streams; `false`: none is. */
export function resizeTerminalOf(pid: number, size: TerminalSize): boolean {
  return [0, 1, 2].some((descriptor) => resizedAt(`/proc/${pid}/fd/${descriptor}`, size));
}

function resizedAt(path: string, size: TerminalSize): boolean {
  let fd: number | undefined;
  try {
    const major = statSync(path).rdev >> 8;
    if (major < PTS_MAJOR || major >= PTS_MAJOR + 8) return false;
    fd = openSync(path, O_RDWR | O_NOCTTY | O_NONBLOCK);
    return ioctlBytes(fd, TIOCSWINSZ, sizeBytes(size)) === 0;
  } catch (error) {
    // It has ended meanwhile: EIO is a terminal whose other end is closed.
    if (!['ENOENT', 'ESRCH', 'EIO'].includes(errnoCode(error) ?? '')) throw error;
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function sizeBytes({ width, height }: TerminalSize): Uint8Array {
  return new Uint8Array(new Uint16Array([height, width, 0, 0]).buffer);
}

async function* untilHangUp(stream: ReadStream): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch (error) {
    // How a terminal says that the other end is closed; or we have closed ours.
    if (errnoCode(error) !== 'EIO' && errnoCode(error) !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

function checked(call: string, result: number): number {
  if (result < 0) throw new Error(`${call} failed: errno ${koffi.errno()}`);
  return result;
}
