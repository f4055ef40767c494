import { closeSync, constants, openSync, rmSync } from 'node:fs';
import { posix } from 'node:path';
import koffi from 'koffi';
import { untilHangUpOrData } from '../sys/loop-socket.ts';
import { addressOf } from '../sys/packet-socket-calls.ts';

const libc = koffi.load('libc.so.6');
const newSocket = libc.func('int socket(int domain, int type, int protocol)');
const bind = libc.func('int bind(int fd, const uint8_t *address, unsigned int length)');
const listen = libc.func('int listen(int fd, int backlog)');
const accept4 = libc.func('int accept4(int fd, void *address, void *length, int flags)');
const recvmsg = libc.func('long recvmsg(int fd, void *message, int flags)');

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const CLOSE_ON_EXEC = 0o2000000;
const NON_BLOCKING = 0o4000;
const O_PATH = 0o10000000;
const MSG_CMSG_CLOEXEC = 0x40000000;
const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;
const WORDS_BYTES = 4096;
/** A header of 16 bytes, and one descriptor, with what aligns it. */
const CONTROL_BYTES = 24;
const ONE_DESCRIPTOR = 20;

/** A socket at which a program hands over a terminal. */
export interface TerminalDoor {
  /**
   * The descriptor of our end, which the caller closes. `over` says that the program has ended: what it has sent by then is
   * still taken, and otherwise the call rejects. The door is closed in any case.
   */
  received(over: AbortSignal): Promise<number>;
}

/** Whoever opens it calls `received`. */
export function openTerminalDoor(path: string): TerminalDoor {
  const folder = openSync(posix.dirname(path), O_PATH | constants.O_DIRECTORY);
  const fd = newSocket(AF_UNIX, SOCK_STREAM | CLOSE_ON_EXEC | NON_BLOCKING, 0);
  try {
    const address = addressOf(`/proc/self/fd/${folder}/${posix.basename(path)}`);
    if (fd === -1 || bind(fd, address, address.byteLength) === -1 || listen(fd, 1) === -1) {
      throw new Error(`listen on ${path}: errno ${koffi.errno()}`);
    }
  } catch (error) {
    if (fd !== -1) closeSync(fd);
    throw error;
  } finally {
    closeSync(folder);
  }
  return {
    received: async (over) => {
      try {
        await untilHangUpOrData(fd, over).catch(() => {});
        return await receivedFrom(fd, over);
      } finally {
        closeSync(fd);
        rmSync(path, { force: true });
      }
    },
  };
}

async function receivedFrom(listener: number, over: AbortSignal): Promise<number> {
  const connection = accept4(listener, null, null, CLOSE_ON_EXEC | NON_BLOCKING);
  if (connection === -1) throw new Error(`accept4: errno ${koffi.errno()}`);
  try {
    await untilHangUpOrData(connection, over).catch(() => {});
    return descriptorFrom(connection);
  } finally {
    closeSync(connection);
  }
}

/** `struct msghdr` with one `struct iovec`, on 64 bits. */
function descriptorFrom(connection: number): number {
  const words = koffi.alloc('uint8_t', WORDS_BYTES);
  const vector = koffi.alloc('uint64_t', 2);
  const control = koffi.alloc('uint8_t', CONTROL_BYTES);
  const message = koffi.alloc('uint64_t', 7);
  try {
    koffi.encode(vector, koffi.array('uint64_t', 2), [koffi.address(words), BigInt(WORDS_BYTES)]);
    const fields = [0n, 0n, koffi.address(vector), 1n, koffi.address(control), BigInt(CONTROL_BYTES), 0n];
    koffi.encode(message, koffi.array('uint64_t', 7), fields);
    if (Number(recvmsg(connection, message, MSG_CMSG_CLOEXEC)) < 0) throw new Error(`recvmsg: errno ${koffi.errno()}`);
    const header = Buffer.from(koffi.decode(control, koffi.array('uint8_t', CONTROL_BYTES)));
    const isDescriptor = header.readInt32LE(8) === SOL_SOCKET && header.readInt32LE(12) === SCM_RIGHTS;
    if (!isDescriptor || header.readInt32LE(0) !== ONE_DESCRIPTOR) throw new Error('the program sent no terminal');
    return header.readInt32LE(16);
  } finally {
    for (const each of [words, vector, control, message]) koffi.free(each);
  }
}
