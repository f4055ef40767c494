/** Calls on files that Node.js has no functions for. */
import { bytesOfFileName, fileNameOf } from '../../file-name.ts';
import { declareCall, declareNumbered } from './ffi.ts';
import { type KernelPath, terminated } from './kernel-path.ts';

const OPENAT2 = 437;

const AT_FDCWD = -100;
const O_CLOEXEC = 0o2000000;
const RENAME_NOREPLACE = 1;
const RESOLVE_NO_MAGICLINKS = 0x02;
const RESOLVE_IN_ROOT = 0x10;

/** flock(2). */
export const flock = declareCall<[fd: number, operation: number]>('int flock(int fd, int operation)');

const renameat2 = declareCall<[fromFolder: number, from: string, toFolder: number, to: string, flags: number]>(
  'int renameat2(int olddirfd, const char *oldpath, int newdirfd, const char *newpath, unsigned int flags)',
  (_fromFolder, from, _toFolder, to) => `${from} to ${to}`,
);
const openat2 = declareNumbered<[root: number, path: KernelPath, how: BigUint64Array, bytes: number]>(
  'openat2',
  OPENAT2,
  ['long', 'const char *', 'const void *', 'long'],
  (_root, path) => shown(path),
);
const mknod = declareCall<[path: KernelPath, mode: number, device: bigint]>(
  'int mknod(const char *path, unsigned int mode, unsigned long device)',
  (path) => shown(path),
);
const lsetxattr = declareCall<[path: KernelPath, name: KernelPath, value: Uint8Array, bytes: number, flags: number]>(
  'int lsetxattr(const char *path, const char *name, const void *value, size_t size, int flags)',
  (_path, name) => shown(name),
);
const lgetxattr = declareCall<[path: KernelPath, name: KernelPath, value: Uint8Array | null, bytes: number]>(
  'long lgetxattr(const char *path, const char *name, void *value, size_t size)',
  (_path, name) => shown(name),
);
const llistxattr = declareCall<[path: KernelPath, list: Uint8Array | null, bytes: number]>(
  'long llistxattr(const char *path, void *list, size_t size)',
  (path) => shown(path),
);

const lseek = declareCall<[fd: number, offset: number, whence: number]>('long lseek(int fd, long offset, int whence)');
const SEEK_END = 2;

/** syncfs(2): writes the whole filesystem to its disk. It takes as long as the disk does. */
export const syncfs = declareCall<[fd: number]>('int syncfs(int fd)');

/** lseek(2) behind everything that was written. */
export function seekToEnd(fd: number): void {
  lseek(fd, 0, SEEK_END);
}

/** renameat2(2) that fails with EEXIST when `to` exists, and with EINVAL where the filesystem does not support it. */
export async function renameNoReplace(from: string, to: string): Promise<void> {
  await renameat2.async(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}

/** Opens a path as if the folder were `/`: neither links nor `..` lead out of it. */
export function openInRoot(root: number, path: KernelPath, flags: number): number {
  const how = new BigUint64Array([BigInt(flags | O_CLOEXEC), 0n, BigInt(RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)]);
  return openat2(root, terminated(path), how, how.byteLength);
}

/** `mode` includes the file's kind (S_IFCHR, …). */
export function makeNode(path: KernelPath, mode: number, major = 0, minor = 0): void {
  mknod(terminated(path), mode, deviceNumber(major, minor));
}

/** Links are not followed. */
export function setXattr(path: KernelPath, name: string, value: Uint8Array): void {
  lsetxattr(terminated(path), terminated(bytesOfFileName(name)), value, value.byteLength, 0);
}

/** Links are not followed. */
export function readXattrs(path: KernelPath): Map<string, Uint8Array> {
  const file = terminated(path);
  const names = readSized((buffer) => llistxattr(file, buffer, buffer?.byteLength ?? 0));
  const found = new Map<string, Uint8Array>();
  for (const name of fileNameOf(names).split('\0').filter(Boolean)) {
    const bytes = terminated(bytesOfFileName(name));
    found.set(
      name,
      readSized((buffer) => lgetxattr(file, bytes, buffer, buffer?.byteLength ?? 0)),
    );
  }
  return found;
}

/** Asks for the size first, then for the bytes. */
function readSized(read: (buffer: Uint8Array | null) => number): Uint8Array {
  const size = read(null);
  if (size === 0) return new Uint8Array();
  const buffer = new Uint8Array(size);
  return buffer.subarray(0, read(buffer));
}

/** glibc's makedev(3). */
function deviceNumber(major: number, minor: number): bigint {
  const [high, low] = [BigInt(major), BigInt(minor)];
  return ((high & 0xfffff000n) << 32n) | ((high & 0xfffn) << 8n) | ((low & 0xffffff00n) << 12n) | (low & 0xffn);
}

function shown(path: KernelPath): string {
  return typeof path === 'string' ? path : path.toString('utf8').replace(/\0$/, '');
}
