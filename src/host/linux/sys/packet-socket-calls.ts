import { closeSync, constants, openSync } from 'node:fs';
import { posix } from 'node:path';
import koffi from 'koffi';
import { Sequencer } from '../../../base/sequencer.ts';
import { NetworkError } from '../../network.ts';
import { errnoCode } from './errno-code.ts';
import { errnoName } from './libc.ts';

const libc = koffi.load('libc.so.6');
const newSocket = libc.func('int socket(int domain, int type, int protocol)');
const connect = libc.func('int connect(int fd, const uint8_t *address, unsigned int length)');
const setOption = libc.func('int setsockopt(int fd, int level, int name, const uint8_t *value, unsigned int length)');
const control = libc.func('fcntl', 'int', ['int', 'int', 'int']);

const AF_UNIX = 1;
const SOCK_SEQPACKET = 5;
const CLOSE_ON_EXEC = 0o2000000;
const NON_BLOCKING = 0o4000;
const O_PATH = 0o10000000;
const F_SETFL = 4;
const SOL_SOCKET = 1;
const SO_SNDTIMEO = 21;
const ADDRESS_BYTES = 110;

/** How long a thread of the pool waits for a listener with a full queue before it looks whether anybody still wants it to. */
const WAIT_FOR_ROOM_SECONDS = 1;

/** A socket that is connected to whoever listens there; rejects with a `NetworkError`. */
export async function connectedPacketSocket(socketPath: string, signal: AbortSignal): Promise<number> {
  signal.throwIfAborted();
  const folder = openFolder(posix.dirname(socketPath));
  let fd = -1;
  try {
    // An address has room for 107 bytes; through the folder's descriptor only the last name counts.
    const address = addressOf(`/proc/self/fd/${folder}/${posix.basename(socketPath)}`);
    fd = newSocket(AF_UNIX, SOCK_SEQPACKET | CLOSE_ON_EXEC | NON_BLOCKING, 0);
    if (fd === -1) throw failure(koffi.errno(), 'socket');
    if (connect(fd, address, address.byteLength) === -1) {
      const errno = koffi.errno();
      if (errno !== koffi.os.errno['EAGAIN']) throw failure(errno, `connect ${socketPath}`);
      const socket = fd;
      await queue.run(socketPath, () => connectPatiently(socket, address, socketPath, signal));
    }
    return fd;
  } catch (error) {
    if (fd !== -1) closeSync(fd);
    throw error;
  } finally {
    closeSync(folder);
  }
}

const queue = new Sequencer();
/** koffi does not keep a buffer from being collected while a call goes on. */
const inUse = new Set<Buffer>();

/** The kernel tells of room in a listener's queue only to those who wait in connect(2): one at a time for each socket. */
async function connectPatiently(fd: number, address: Buffer, socketPath: string, signal: AbortSignal): Promise<void> {
  control(fd, F_SETFL, 0);
  const patience = Buffer.alloc(16);
  patience.writeBigInt64LE(BigInt(WAIT_FOR_ROOM_SECONDS));
  setOption(fd, SOL_SOCKET, SO_SNDTIMEO, patience, patience.byteLength);
  inUse.add(address);
  try {
    let errno = koffi.os.errno['EAGAIN'];
    while (errno === koffi.os.errno['EAGAIN']) {
      signal.throwIfAborted();
      errno = await new Promise<number>((resolve, reject) => {
        connect.async(fd, address, address.byteLength, (error: unknown, result: number) => {
          if (error) reject(error);
          else resolve(result === -1 ? koffi.errno() : 0);
        });
      });
    }
    if (errno !== 0) throw failure(errno, `connect ${socketPath}`);
  } finally {
    inUse.delete(address);
  }
}

function openFolder(path: string): number {
  try {
    return openSync(path, O_PATH | constants.O_DIRECTORY);
  } catch (error) {
    throw new NetworkError(errnoCode(error) ?? 'EIO', `connect to a socket in ${path}: ${errnoCode(error)}`, {
      cause: error,
    });
  }
}

/** As `struct sockaddr_un` has it. */
export function addressOf(path: string): Buffer {
  if (Buffer.byteLength(path) > ADDRESS_BYTES - 3) throw failure(koffi.os.errno['ENAMETOOLONG'], path);
  const address = Buffer.alloc(ADDRESS_BYTES);
  address.writeUInt16LE(AF_UNIX);
  address.write(path, 2);
  return address;
}

function failure(errno: number | undefined, what: string): NetworkError {
  const code = errnoName(errno ?? 0);
  return new NetworkError(code, `${what}: ${code}`);
}
