import koffi from 'koffi';
import { bytesOfFileName, fileNameOf } from '../../file-name.ts';
import { errnoName, SystemCallError } from './libc.ts';
import { type Place, terminated } from './tree-place.ts';

/**
 * System calls that Node has no names for, made at once on the calling thread: each takes microseconds, less than
 * handing it to another thread would.
 */
const libc = koffi.load('libc.so.6');
/** The numbers of calls newer than 424 are the same on every architecture. */
const OPENAT2 = 437;
const OPEN_TREE = 428;
const MOVE_MOUNT = 429;
const MOUNT_SETATTR = 442;

const AT_FDCWD = -100;
const AT_EMPTY_PATH = 0x1000;
const AT_RECURSIVE = 0x8000;
const MS_SLAVE = 1n << 19n;
const O_CLOEXEC = 0o2000000;
const RESOLVE_NO_MAGICLINKS = 0x02;
const RESOLVE_IN_ROOT = 0x10;
const OPEN_TREE_CLONE = 1;
const MOUNT_ATTR_IDMAP = 0x00100000n;
const MOVE_MOUNT_F_EMPTY_PATH = 4;

const syscall5 = libc.func('long syscall(long number, long a, const char *b, const void *c, long d)');
const syscall3 = libc.func('long syscall(long number, long a, const char *b, long c)');
const syscallSetattr = libc.func('long syscall(long number, long a, const char *b, long c, const void *d, long e)');
const syscallMove = libc.func('long syscall(long number, long a, const char *b, long c, const char *d, long e)');
const mknodNative = libc.func('int mknod(const char *path, unsigned int mode, unsigned long device)');
const lsetxattr = libc.func(
  'int lsetxattr(const char *path, const char *name, const void *value, size_t size, int flags)',
);
const lgetxattr = libc.func('long lgetxattr(const char *path, const char *name, void *value, size_t size)');
const llistxattr = libc.func('long llistxattr(const char *path, void *list, size_t size)');
const syncfsNative = libc.func('int syncfs(int fd)');

/** Opens a place as if the folder were `/`: no link and no dots lead out of it. */
export function openInRoot(root: number, path: Place, flags: number): number {
  const how = new BigUint64Array([BigInt(flags | O_CLOEXEC), 0n, BigInt(RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)]);
  return checked('openat2', syscall5(OPENAT2, root, terminated(path), how, how.byteLength));
}

/** Without what is mounted below, or with it. */
export type TreeReach = 'top' | 'whole';

/** A mount of its own that shows the folder, attached nowhere; it goes when the descriptor is closed. */
export function openTreeClone(path: string, reach: TreeReach = 'top'): number {
  const flags = OPEN_TREE_CLONE | O_CLOEXEC | recursive(reach);
  return checked('open_tree', syscall3(OPEN_TREE, AT_FDCWD, path, flags));
}

/**
 * Shows the files of a mount with their ids mapped as in the user namespace. It becomes a slave: to unmount a tree that is
 * shared with another would unmount what lies below that one.
 */
export function mapMountIds(mount: number, userNamespace: number, reach: TreeReach = 'top'): void {
  const attributes = new BigUint64Array([MOUNT_ATTR_IDMAP, 0n, MS_SLAVE, BigInt(userNamespace)]);
  const flags = AT_EMPTY_PATH | recursive(reach);
  checked('mount_setattr', syscallSetattr(MOUNT_SETATTR, mount, '', flags, attributes, attributes.byteLength));
}

function recursive(reach: TreeReach): number {
  return reach === 'whole' ? AT_RECURSIVE : 0;
}

export function attachMount(mount: number, target: string): void {
  checked('move_mount', syscallMove(MOVE_MOUNT, mount, '', AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH));
}

/** `mode` with the file's kind (S_IFCHR, …). */
export function makeNode(path: Place, mode: number, major = 0, minor = 0): void {
  checked('mknod', mknodNative(terminated(path), mode, deviceNumber(major, minor)));
}

/** Of the place itself, not of where a link leads. */
export function setXattr(path: Place, name: string, value: Uint8Array): void {
  checked('setxattr', lsetxattr(terminated(path), terminated(bytesOfFileName(name)), value, value.byteLength, 0));
}

export function readXattrs(place: Place): Map<string, Uint8Array> {
  const path = terminated(place);
  const names = sized('listxattr', (buffer) => llistxattr(path, buffer, buffer?.byteLength ?? 0));
  const found = new Map<string, Uint8Array>();
  for (const name of fileNameOf(names).split('\0').filter(Boolean)) {
    found.set(
      name,
      sized('getxattr', (buffer) =>
        lgetxattr(path, terminated(bytesOfFileName(name)), buffer, buffer?.byteLength ?? 0),
      ),
    );
  }
  return found;
}

/** Writes all of the file system to its disk; on a thread of Node's pool, for it takes as long as the disk does. */
export function syncFileSystem(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    syncfsNative.async(fd, (error: unknown, result: number) => {
      if (error) reject(error);
      else if (result === -1) reject(failure('syncfs'));
      else resolve();
    });
  });
}

/** glibc's makedev(3). */
function deviceNumber(major: number, minor: number): bigint {
  const [high, low] = [BigInt(major), BigInt(minor)];
  return ((high & 0xfffff000n) << 32n) | ((high & 0xfffn) << 8n) | ((low & 0xffffff00n) << 12n) | (low & 0xffn);
}

function sized(call: string, read: (buffer: Uint8Array | null) => number): Uint8Array {
  const size = checked(call, read(null));
  if (size === 0) return new Uint8Array();
  const buffer = new Uint8Array(size);
  return buffer.subarray(0, checked(call, read(buffer)));
}

function checked(call: string, result: number): number {
  if (result === -1) throw failure(call);
  return Number(result);
}

function failure(call: string): SystemCallError {
  return new SystemCallError(call, errnoName(koffi.errno()));
}
