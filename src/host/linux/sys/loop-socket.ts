import { closeSync } from 'node:fs';
import { Socket, type SocketConstructorOpts } from 'node:net';
import koffi from 'koffi';
import { newPipe } from './new-pipe.ts';

/** Node's own class of pipes, as far as it is used here. */
type PipeClass = new (
  kind: number,
) => {
  /** Takes over a descriptor of any kind that epoll(7) knows; answers 0 or a negative errno. */
  open(fd: number): number;
};

const PLAIN = 0; // one that other descriptors are not sent through

let pipeClass: PipeClass | undefined;

/**
 * A stream on a descriptor that Node.js would not take by itself: it looks at what a descriptor is and refuses sockets with
 * packets, while the pipes of its event loop read and write whatever they are given (decision 0010). Owns the descriptor
 * from here on, and closes it when it throws. One read(2) or write(2) for each piece.
 */
export function loopSocket(fd: number, options: Omit<SocketConstructorOpts, 'fd' | 'handle'>): Socket {
  try {
    pipeClass ??= findPipeClass();
    const handle = new pipeClass(PLAIN);
    const result = handle.open(fd);
    if (result !== 0) throw new Error(`the event loop does not take descriptor ${fd}: ${result}`);
    // How the parts of Node.js hand connections to one another; its types do not tell of it.
    const withHandle: object = { ...options, handle };
    return new Socket(withHandle);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Every stream on a pipe has one. */
function findPipeClass(): PipeClass {
  const { ours, theirs } = newPipe('writes', 'pipe');
  const stream = new Socket({ fd: ours, readable: true, writable: false });
  try {
    const handle: unknown = Reflect.get(stream, '_handle');
    const found: unknown = typeof handle === 'object' && handle !== null ? handle.constructor : undefined;
    if (isPipeClass(found)) return found;
    throw new Error(`Node.js ${process.version} has no pipe that takes descriptors`);
  } finally {
    stream.destroy();
    closeSync(theirs);
  }
}

function isPipeClass(found: unknown): found is PipeClass {
  return typeof found === 'function' && typeof Reflect.get(found.prototype, 'open') === 'function';
}

/**
 * Resolves when a descriptor that cannot be read from, but be waited for (pidfd, epoll), has something to tell: the event
 * loop then tries to read, and fails. Owns the descriptor. Rejects only with the signal's reason.
 */
export function untilReady(fd: number, signal: AbortSignal): Promise<void> {
  const stream = loopSocket(fd, { readable: true, writable: false });
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      stream.destroy();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    stream.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    stream.on('error', () => {}); // `close` follows
    if (signal.aborted) onAbort();
    else stream.resume();
  });
}

const libc = koffi.load('libc.so.6');
const epollCreate = libc.func('int epoll_create1(int flags)');
const epollControl = libc.func('int epoll_ctl(int epoll, int operation, int fd, const uint8_t *event)');
const systemCall = libc.func('syscall', 'long', ['long', 'int', 'unsigned int']);

const CLOSE_ON_EXEC = 0o2000000;
const EPOLL_CTL_ADD = 1;
const EPOLLIN = 1;
const EPOLL_EVENT_BYTES = 16; // 12 on some architectures
const PIDFD_OPEN = 434; // the same on all architectures

/** Resolves when the other side is gone, without reading anything that others are to read. The descriptor stays the caller's. */
export function untilHangUp(fd: number, signal: AbortSignal): Promise<void> {
  return untilEvent(fd, 0, signal); // hang-ups are told in any case
}

/** The same, also when there is something to read or to accept: nothing of it is taken. */
export function untilHangUpOrData(fd: number, signal: AbortSignal): Promise<void> {
  return untilEvent(fd, EPOLLIN, signal);
}

async function untilEvent(fd: number, events: number, signal: AbortSignal): Promise<void> {
  const epoll = Number(epollCreate(CLOSE_ON_EXEC));
  if (epoll === -1) throw new Error(`epoll_create1: errno ${koffi.errno()}`);
  const event = Buffer.alloc(EPOLL_EVENT_BYTES);
  event.writeUInt32LE(events);
  if (epollControl(epoll, EPOLL_CTL_ADD, fd, event) === -1) {
    closeSync(epoll);
    throw new Error(`epoll_ctl: errno ${koffi.errno()}`);
  }
  await untilReady(epoll, signal);
}

/** A descriptor that is ready when the process has ended; `undefined`: it has, and is collected. */
export function openPidfd(pid: number): number | undefined {
  const fd = Number(systemCall(PIDFD_OPEN, pid, 0));
  if (fd !== -1) return fd;
  const errno = koffi.errno();
  if (errno === koffi.os.errno['ESRCH']) return undefined;
  throw new Error(`pidfd_open: errno ${errno}`);
}
