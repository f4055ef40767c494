/** Unix and internet sockets of kinds that Node.js does not make. */
import { closeSync, constants, openSync } from 'node:fs';
import { posix } from 'node:path';
import koffi from 'koffi';
import { declareCall } from './ffi.ts';
import { STRUCT_SIZES } from './layout.ts';
import { SystemCallError } from './system-call-error.ts';

const AF_UNIX = 1;
const SOL_SOCKET = 1;
const SO_SNDTIMEO = 21;
const SCM_RIGHTS = 1;
const MSG_CMSG_CLOEXEC = 0x40000000;
const O_PATH = 0o10000000;

/** socket(2). */
export const socket = declareCall<[domain: number, type: number, protocol: number]>(
  'int socket(int domain, int type, int protocol)',
);

/** connect(2). */
export const connect = declareCall<[fd: number, address: Uint8Array, bytes: number]>(
  'int connect(int fd, const uint8_t *address, unsigned int length)',
  (_fd, address) => pathIn(address),
);

/** bind(2). */
export const bind = declareCall<[fd: number, address: Uint8Array, bytes: number]>(
  'int bind(int fd, const uint8_t *address, unsigned int length)',
  (_fd, address) => pathIn(address),
);

/** listen(2). */
export const listen = declareCall<[fd: number, backlog: number]>('int listen(int fd, int backlog)');

const accept4 = declareCall<[fd: number, address: null, length: null, flags: number]>(
  'int accept4(int fd, void *address, void *length, int flags)',
);
const setsockopt = declareCall<[fd: number, level: number, name: number, value: Uint8Array, bytes: number]>(
  'int setsockopt(int fd, int level, int name, const uint8_t *value, unsigned int length)',
);
const recvmsg = declareCall<[fd: number, message: unknown, flags: number]>(
  'long recvmsg(int fd, void *message, int flags)',
);

/** `flags`: of the new descriptor. */
export function accept(listener: number, flags: number): number {
  return accept4(listener, null, null, flags);
}

/** How long a blocking connect(2) or write(2) waits before it fails with EAGAIN. */
export function setSendTimeout(fd: number, seconds: number): void {
  const timeval = Buffer.alloc(STRUCT_SIZES.timeval);
  timeval.writeBigInt64LE(BigInt(seconds));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, timeval, timeval.byteLength);
}

/** `struct sockaddr_un`. Throws ENAMETOOLONG for a path of more than 107 bytes. */
export function unixAddress(path: string): Buffer {
  const address = Buffer.alloc(STRUCT_SIZES.sockaddr_un);
  // The family is 2 bytes, and the path ends with a zero.
  if (Buffer.byteLength(path) > address.byteLength - 3) throw new SystemCallError('connect', 'ENAMETOOLONG', path);
  address.writeUInt16LE(AF_UNIX);
  address.write(path, 2);
  return address;
}

function pathIn(address: Uint8Array): string {
  return Buffer.from(address).toString('utf8', 2).replace(/\0+$/, '');
}

/** The address of a socket through a descriptor of its folder, so that only the last name must fit into the address. */
export interface ShortUnixAddress extends Disposable {
  readonly address: Buffer;
}

/** The address is valid until it is disposed of. */
export function shortUnixAddress(path: string): ShortUnixAddress {
  const folder = openSync(posix.dirname(path), O_PATH | constants.O_DIRECTORY);
  try {
    const address = unixAddress(`/proc/self/fd/${folder}/${posix.basename(path)}`);
    return { address, [Symbol.dispose]: () => closeSync(folder) };
  } catch (error) {
    closeSync(folder);
    throw error;
  }
}

const PAYLOAD_BYTES = 4096;
const DESCRIPTOR_BYTES = 4;
/** Length, level and type, then one descriptor, aligned to 8 bytes. */
const CONTROL_BYTES = STRUCT_SIZES.cmsghdr + 8;
const CONTROL_LEVEL_OFFSET = 8;
const CONTROL_TYPE_OFFSET = 12;

/** Receives one message with one descriptor (`SCM_RIGHTS`); `undefined`: the message has none. */
export function receiveDescriptor(connection: number): number | undefined {
  const { msghdrWords, iovecWords, cmsghdr } = STRUCT_SIZES;
  const payload = koffi.alloc('uint8_t', PAYLOAD_BYTES);
  const vector = koffi.alloc('uint64_t', iovecWords);
  const control = koffi.alloc('uint8_t', CONTROL_BYTES);
  const message = koffi.alloc('uint64_t', msghdrWords);
  try {
    koffi.encode(vector, koffi.array('uint64_t', iovecWords), [koffi.address(payload), BigInt(PAYLOAD_BYTES)]);
    const fields = [0n, 0n, koffi.address(vector), 1n, koffi.address(control), BigInt(CONTROL_BYTES), 0n];
    koffi.encode(message, koffi.array('uint64_t', msghdrWords), fields);
    recvmsg(connection, message, MSG_CMSG_CLOEXEC);
    const header = Buffer.from(koffi.decode(control, koffi.array('uint8_t', CONTROL_BYTES)));
    if (header.readInt32LE(CONTROL_LEVEL_OFFSET) !== SOL_SOCKET) return undefined;
    if (header.readInt32LE(CONTROL_TYPE_OFFSET) !== SCM_RIGHTS) return undefined;
    if (header.readInt32LE(0) !== cmsghdr + DESCRIPTOR_BYTES) return undefined;
    return header.readInt32LE(cmsghdr);
  } finally {
    for (const each of [payload, vector, control, message]) koffi.free(each);
  }
}
