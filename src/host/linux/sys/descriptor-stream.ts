import { closeSync } from 'node:fs';
import { Socket, type SocketConstructorOpts } from 'node:net';
import { newPipe } from './descriptor-calls.ts';
import { openEpoll } from './event-calls.ts';

/** The part of Node's internal pipe class that is used here. */
type PipeClass = new (
  kind: number,
) => {
  /** Takes over a descriptor of any kind that epoll(7) supports; returns 0 or a negative errno. */
  open(fd: number): number;
};

const PLAIN = 0; // not for passing descriptors
const EPOLLIN = 1;

let pipeClass: PipeClass | undefined;

/**
 * A stream on a descriptor that Node.js does not accept: it checks the descriptor's kind and rejects packet sockets, while
 * the pipes of its event loop read and write any descriptor (decision 0010). Each chunk is one read(2) or write(2). Owns the
 * descriptor, and closes it when it throws.
 */
export function openDescriptorStream(fd: number, options: Omit<SocketConstructorOpts, 'fd' | 'handle'>): Socket {
  try {
    pipeClass ??= findPipeClass();
    const handle = new pipeClass(PLAIN);
    const result = handle.open(fd);
    if (result !== 0) throw new Error(`the event loop does not accept descriptor ${fd}: ${result}`);
    // Node.js passes connections between its own modules this way; its types do not declare it.
    const withHandle: object = { ...options, handle };
    return new Socket(withHandle);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** The class of the handle behind a stream on a pipe. */
function findPipeClass(): PipeClass {
  const { readEnd, writeEnd } = newPipe();
  const stream = new Socket({ fd: readEnd, readable: true, writable: false });
  try {
    const handle: unknown = Reflect.get(stream, '_handle');
    const found: unknown = typeof handle === 'object' && handle !== null ? handle.constructor : undefined;
    if (isPipeClass(found)) return found;
    throw new Error(`Node.js ${process.version} has no pipe that accepts descriptors`);
  } finally {
    stream.destroy();
    closeSync(writeEnd);
  }
}

function isPipeClass(found: unknown): found is PipeClass {
  return typeof found === 'function' && typeof Reflect.get(found.prototype, 'open') === 'function';
}

/**
 * Resolves when a descriptor that can be polled but not read (pidfd, epoll) is ready: the event loop then tries to read, and
 * fails. Owns the descriptor. Rejects only with the signal's reason.
 */
export function untilReady(fd: number, signal: AbortSignal): Promise<void> {
  const stream = openDescriptorStream(fd, { readable: true, writable: false });
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

/** Resolves when the other side has closed. Reads nothing; the caller keeps the descriptor. */
export async function untilHangUp(fd: number, signal: AbortSignal): Promise<void> {
  await untilReady(openEpoll(fd, 0), signal); // hang-ups are always reported
}

/** Resolves when the other side has closed, or there is something to read or to accept. Reads nothing. */
export async function untilHangUpOrData(fd: number, signal: AbortSignal): Promise<void> {
  await untilReady(openEpoll(fd, EPOLLIN), signal);
}
