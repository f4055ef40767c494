import type { DeviceNumbers, FileStat, FileSystemUsage, OpenDirectory, OpenFile } from '../file-system.ts';
import { Errno } from './errno.ts';

interface Common {
  readonly inode: number;
  readonly device: number;
  mode: number;
  uid: number;
  gid: number;
  modifiedMs: number;
  xattrs?: Map<string, Uint8Array>;
}

export interface FileInode extends Common {
  readonly kind: 'file';
  bytes: Uint8Array;
}

export interface DirectoryInode extends Common {
  readonly kind: 'directory';
  readonly entries: Map<string, Inode>;
}

export interface LinkInode extends Common {
  readonly kind: 'symlink';
  readonly target: string;
}

export interface SocketInode extends Common {
  readonly kind: 'socket';
}

export interface DeviceInode extends Common {
  readonly kind: 'characterDevice' | 'blockDevice';
  readonly special: DeviceNumbers;
}

export interface FifoInode extends Common {
  readonly kind: 'fifo';
}

/** A file of the in-memory filesystem. */
export type Inode = FileInode | DirectoryInode | LinkInode | SocketInode | DeviceInode | FifoInode;

/** An inode without the fields that the filesystem sets. */
export type NewInode =
  | Pick<FileInode, 'kind' | 'mode' | 'bytes'>
  | Pick<DirectoryInode, 'kind' | 'mode' | 'entries'>
  | Pick<LinkInode, 'kind' | 'mode' | 'target'>
  | Pick<SocketInode | FifoInode, 'kind' | 'mode'>
  | Pick<DeviceInode, 'kind' | 'mode' | 'special'>;

/** The result of stat(2). */
export function statOf(inode: Inode): FileStat {
  const { kind, mode, uid, gid, modifiedMs, device } = inode;
  const common = { kind, size: sizeOf(inode), mode, uid, gid, modifiedMs, device, inode: inode.inode };
  return 'special' in inode ? { ...common, special: inode.special } : common;
}

function sizeOf(inode: Inode): number {
  if (inode.kind === 'file') return inode.bytes.byteLength;
  if (inode.kind === 'symlink') return Buffer.byteLength(inode.target);
  return 0;
}

/** Implements `openFile`. */
export function openInode(inode: Inode | undefined): OpenFile {
  if (inode === undefined) throw new Errno('ENOENT');
  if (inode.kind === 'symlink') throw new Errno('ELOOP');
  if (inode.kind === 'directory') throw new Errno('EISDIR');
  if (inode.kind !== 'file') throw new Errno('ENXIO');
  return {
    stat: async () => statOf(inode),
    read: async (offset, length) => inode.bytes.slice(offset, offset + length),
    [Symbol.asyncDispose]: async () => {},
  };
}

/** Implements `openDirectoryBeneath`. */
export function openFolder(inode: Inode | undefined): OpenDirectory {
  if (inode === undefined) throw new Errno('ENOENT');
  if (inode.kind !== 'directory') throw new Errno('ENOTDIR');
  const { entries } = inode;
  return {
    stat: async () => statOf(inode),
    async *entries() {
      yield [...entries].map(([name, entry]) => ({ name, isFolder: entry.kind === 'directory' }));
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

/** The usage of a filesystem that a test does not fill. */
export const DEFAULT_USAGE: FileSystemUsage = {
  capacityBytes: 100 * 2 ** 30,
  availableBytes: 50 * 2 ** 30,
  usedBytes: 50 * 2 ** 30,
  inodes: 6_000_000,
  inodesFree: 5_000_000,
};
