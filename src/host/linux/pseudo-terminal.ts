import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ReadStream } from 'node:tty';
import koffi from 'koffi';
import type { TerminalSize } from '../processes.ts';
import { errnoCode } from './errno-code.ts';

/**
 * Node.js cannot wait until a terminal takes more input without giving a thread to it, so a terminal whose program does
 * not read is tried again this often. That happens only to somebody who types ahead some thousand characters.
 */
const WRITE_AGAIN_MS = 10;

const O_RDWR = 0o2;
const O_NOCTTY = 0o400;
const O_NONBLOCK = 0o4000;
const O_CLOEXEC = 0o2000000;
const TIOCGPTPEER = 0x5441;
const TIOCSPTLCK = 0x40045431;
const TIOCSWINSZ = 0x5414;
/** Of the terminals in /dev/pts; there are eight such numbers. */
const PTS_MAJOR = 136;

const libc = koffi.load('libc.so.6');
const posixOpenpt = libc.func('int posix_openpt(int flags)');
const ioctlNumber = libc.func('ioctl', 'int', ['int', 'unsigned long', 'unsigned long']);
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

function ourEnd(fd: number): PseudoTerminal {
  const stream = new ReadStream(fd); // owns the descriptor from here on, and makes it non-blocking
  stream.on('error', () => {}); // whoever reads is told; an end that nobody reads is none of ours
  let lastWrite: Promise<void> = Promise.resolve();
  return {
    output: untilHangUp(stream),
    write: (data) => {
      lastWrite = lastWrite.then(() => writeAll(stream, fd, data));
      return lastWrite;
    },
    resize: ({ width, height }) => {
      if (stream.destroyed) return;
      checked('ioctl TIOCSWINSZ', ioctlBytes(fd, TIOCSWINSZ, sizeBytes({ width, height })));
    },
    close: () => stream.destroy(),
  };
}

/**
 * Resizes the terminal that is a process's standard input, if it has one: crun does not hand on the size of its own to
 * the one that it makes in the container.
 */
export function resizeTerminalOf(pid: number, size: TerminalSize): void {
  const path = `/proc/${pid}/fd/0`;
  let fd: number | undefined;
  try {
    const major = statSync(path).rdev >> 8;
    if (major < PTS_MAJOR || major >= PTS_MAJOR + 8) return;
    fd = openSync(path, O_RDWR | O_NOCTTY | O_NONBLOCK);
    ioctlBytes(fd, TIOCSWINSZ, sizeBytes(size));
  } catch (error) {
    // It has ended meanwhile: EIO is a terminal whose other end is closed.
    if (!['ENOENT', 'ESRCH', 'EIO'].includes(errnoCode(error) ?? '')) throw error;
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

async function writeAll(stream: ReadStream, fd: number, data: Uint8Array): Promise<void> {
  let rest = data;
  while (rest.byteLength > 0 && !stream.destroyed) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if (errnoCode(error) === 'EIO') return; // the program is gone
      if (errnoCode(error) !== 'EAGAIN') throw error;
      await sleep(WRITE_AGAIN_MS);
    }
  }
}

function checked(call: string, result: number): number {
  if (result < 0) throw new Error(`${call} failed: errno ${koffi.errno()}`);
  return result;
}
