/** Calls that make descriptors or change them. */
import { declareCall, declareVariant } from './ffi.ts';

const O_CLOEXEC = 0o2000000;
const F_SETFL = 4;
const F_ADD_SEALS = 1033;
const F_DUPFD_CLOEXEC = 1030;
const SIOCSIFFLAGS = 0x8914;
const TIOCGPTPEER = 0x5441;
const TIOCSPTLCK = 0x40045431;
const TIOCSWINSZ = 0x5414;

const fcntl = declareVariant<[fd: number, command: number, argument: number]>('fcntl', ['int', 'int', 'int']);
const ioctlNumber = declareVariant<[fd: number, request: number, argument: number]>('ioctl', [
  'int',
  'unsigned long',
  'unsigned long',
]);
const ioctlBytes = declareVariant<[fd: number, request: number, argument: Uint8Array]>('ioctl', [
  'int',
  'unsigned long',
  'uint8_t *',
]);
const pipe2 = declareCall<[fds: number[], flags: number]>('int pipe2(_Out_ int *fds, int flags)');

/** close(2), for descriptors that Node.js has not opened and refuses to close. */
export const closeDescriptor = declareCall<[fd: number]>('int close(int fd)', (fd) => fd);

/** Both ends are closed on exec. */
export function newPipe(): { readonly readEnd: number; readonly writeEnd: number } {
  const fds = [0, 0];
  pipe2(fds, O_CLOEXEC);
  const [readEnd = 0, writeEnd = 0] = fds;
  return { readEnd, writeEnd };
}

/** Replaces the status flags, `O_NONBLOCK` among them. */
export function setStatusFlags(fd: number, flags: number): void {
  fcntl(fd, F_SETFL, flags);
}

export function addSeals(fd: number, seals: number): void {
  fcntl(fd, F_ADD_SEALS, seals);
}

/** A second descriptor of the same open file, closed on exec. */
export function duplicateDescriptor(fd: number): number {
  return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/** `request`: a `struct ifreq` with the interface's name and flags. */
export function setInterfaceFlags(socket: number, request: Uint8Array): void {
  ioctlBytes(socket, SIOCSIFFLAGS, request);
}

/** Lets the other end of a new pseudo-terminal be opened. */
export function unlockTerminal(fd: number): void {
  ioctlBytes(fd, TIOCSPTLCK, new Uint8Array(4));
}

/** The other end of a pseudo-terminal, by descriptor and not by name: /dev/pts need not be the one of /dev/ptmx. */
export function openTerminalPeer(fd: number, flags: number): number {
  return ioctlNumber(fd, TIOCGPTPEER, flags);
}

export function setTerminalSize(
  fd: number,
  { width, height }: { readonly width: number; readonly height: number },
): void {
  ioctlBytes(fd, TIOCSWINSZ, new Uint8Array(new Uint16Array([height, width, 0, 0]).buffer)); // struct winsize
}

/** posix_openpt(3). */
export const openTerminalMaster = declareCall<[flags: number]>('int posix_openpt(int flags)');

/** memfd_create(2). */
export const memfdCreate = declareCall<[name: string, flags: number]>(
  'int memfd_create(const char *name, unsigned int flags)',
  (name) => name,
);
