/** mount(2) and the calls for mounts that are not attached yet. */
import { declareCall, declareNumbered } from './ffi.ts';

const OPEN_TREE = 428;
const MOVE_MOUNT = 429;
const MOUNT_SETATTR = 442;

const AT_FDCWD = -100;
const AT_EMPTY_PATH = 0x1000;
const AT_RECURSIVE = 0x8000;
const O_CLOEXEC = 0o2000000;
const MS_SLAVE = 1n << 19n;
const OPEN_TREE_CLONE = 1;
const MOUNT_ATTR_IDMAP = 0x00100000n;
const MOVE_MOUNT_F_EMPTY_PATH = 4;

/** mount(2). A call that may hang for long (a network filesystem) must not run on a thread of Node's pool. */
export const mount = declareCall<
  [source: string, target: string, type: string | null, flags: number, data: string | null]
>(
  'int mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)',
  (_source, target) => target,
);

/** umount2(2). */
export const umount2 = declareCall<[target: string, flags: number]>(
  'int umount2(const char *target, int flags)',
  (target) => target,
);

const openTree = declareNumbered<[folder: number, path: string, flags: number]>(
  'open_tree',
  OPEN_TREE,
  ['long', 'const char *', 'long'],
  (_folder, path) => path,
);
const mountSetattr = declareNumbered<
  [mount: number, path: string, flags: number, attributes: BigUint64Array, bytes: number]
>('mount_setattr', MOUNT_SETATTR, ['long', 'const char *', 'long', 'const void *', 'long']);
const moveMount = declareNumbered<[mount: number, path: string, toFolder: number, target: string, flags: number]>(
  'move_mount',
  MOVE_MOUNT,
  ['long', 'const char *', 'long', 'const char *', 'long'],
  (_mount, _path, _toFolder, target) => target,
);

/** `top`: without the mounts below; `whole`: with them. */
export type TreeReach = 'top' | 'whole';

/** A new mount of a folder, attached nowhere. Closing the descriptor removes it, unless it has been attached. */
export function openTreeClone(path: string, reach: TreeReach = 'top'): number {
  return openTree(AT_FDCWD, path, OPEN_TREE_CLONE | O_CLOEXEC | recursive(reach));
}

/**
 * Shows the files of a mount with their ids mapped as in the user namespace. The mount becomes a slave: unmounting a tree
 * with shared propagation would also unmount what lies below its peers.
 */
export function mapMountIds(mountFd: number, userNamespace: number, reach: TreeReach = 'top'): void {
  const attributes = new BigUint64Array([MOUNT_ATTR_IDMAP, 0n, MS_SLAVE, BigInt(userNamespace)]);
  mountSetattr(mountFd, '', AT_EMPTY_PATH | recursive(reach), attributes, attributes.byteLength);
}

export function attachMount(mountFd: number, target: string): void {
  moveMount(mountFd, '', AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH);
}

function recursive(reach: TreeReach): number {
  return reach === 'whole' ? AT_RECURSIVE : 0;
}
