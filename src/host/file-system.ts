import { ExpectedError } from '../base/expected-error.ts';
import type { TreeFiles, TreeMember, TreeUsage, TreeWriter, TreeWriterOptions } from './tree.ts';

/**
 * Files. Paths are absolute. All implementations reject with a `FileSystemError` whose `code` is the errno name.
 */
export interface FileSystem {
  readFile(path: string, signal?: AbortSignal): Promise<Uint8Array>;
  /** UTF-8. */
  readText(path: string, signal?: AbortSignal): Promise<string>;
  /** At most `length` bytes from `offset` on; fewer at the end of the file, none beyond it. */
  readRange(path: string, offset: number, length: number): Promise<Uint8Array>;

  /**
   * Opens a regular file; renaming or removing it does not affect the open file. Other kinds fail without blocking: EISDIR
   * for a folder, ENXIO for pipes, sockets and devices, ELOOP for a link that is not to be followed.
   */
  openFile(path: string, options?: { readonly followLink?: boolean }): Promise<OpenFile>;

  /**
   * The same for the relative `path` below `root`. Links that lead out of `root` fail with EXDEV, also while other
   * processes change the tree.
   */
  openFileBeneath(root: string, path: string): Promise<OpenFile>;
  /** The same for a folder; anything else fails with ENOTDIR. */
  openDirectoryBeneath(root: string, path: string): Promise<OpenDirectory>;

  /** Creates or truncates. For kernel files and logs; files that must survive a crash use `writeAtomic`. */
  writeFile(path: string, data: string | Uint8Array, options?: WriteOptions): Promise<void>;
  appendFile(path: string, data: string | Uint8Array): Promise<void>;
  /** After a crash the file has either the old or the new content. One writer per path. */
  writeAtomic(path: string, data: string | Uint8Array, options?: WriteOptions): Promise<void>;
  /** The same without fsync(2): safe against `kill -9`, not against a power loss. */
  writeReplacing(path: string, data: string | Uint8Array, options?: WriteOptions): Promise<void>;

  /**
   * Creates missing parents too; an existing folder is not an error and stays unchanged. `mode` applies to the last
   * folder and ignores the umask.
   */
  makeDirectory(path: string, mode?: number): Promise<void>;
  /**
   * Creates the missing folders of the relative `path` below `root`, each with this mode. Safe while other processes change
   * the tree: links that lead out of `root` fail with EXDEV, and nothing is created through a dangling link.
   */
  makeDirectoryBeneath(root: string, path: string, mode: number): Promise<void>;
  /** Names in code-point order. */
  readDirectory(path: string): Promise<readonly DirectoryEntry[]>;
  /** Follows symbolic links; `undefined` when the path does not exist (ENOENT, ENOTDIR). */
  stat(path: string): Promise<FileStat | undefined>;
  /** Does not follow the last link. */
  lstat(path: string): Promise<FileStat | undefined>;
  readLink(path: string): Promise<string>;
  /** The canonical path, as in the mount table. Fails with ENOENT when it does not exist. */
  realPath(path: string): Promise<string>;
  symbolicLink(target: string, path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** `false`: `to` exists already, and nothing was changed. */
  renameUnlessTaken(from: string, to: string): Promise<boolean>;
  /**
   * Compresses `from` to `to` with gzip; `to` is created or truncated and gets the mode of `from`. Takes little memory and
   * does not block the event loop, whatever the size; the data is on disk when it resolves.
   */
  compressFile(from: string, to: string, signal: AbortSignal): Promise<void>;
  /** Follows symbolic links. */
  changeMode(path: string, mode: number): Promise<void>;
  /** Does not follow the last link. */
  changeOwner(path: string, uid: number, gid: number): Promise<void>;

  /** Removes one file, link or empty folder; a missing one is not an error. */
  remove(path: string): Promise<void>;
  /**
   * Removes a whole tree; a missing one is not an error. Never crosses into another filesystem: a mount point below `path`
   * fails with EBUSY, and the mounted files stay. An abort takes effect between two batches of entries.
   */
  removeTree(path: string, signal?: AbortSignal): Promise<void>;
  /**
   * Changes the group of a file, or of a folder and everything in it, and adds permission bits; a folder after its content.
   * Safe while other processes change the tree: links are not followed. A missing path is not an error.
   */
  setTreeGroup(root: string, access: GroupAccess, signal?: AbortSignal): Promise<void>;

  /**
   * Yields once the watch is established, then after each change of `path` (a file, or a folder and its direct children).
   * An event does not describe the change; several changes may be coalesced into one. Ends when the signal aborts. Fails
   * with ENOENT when the path does not exist at first, or when the folder (of the file) is removed.
   */
  watch(path: string, signal: AbortSignal): AsyncIterable<void>;
  /**
   * As `watch`; yields the files of the folder (or `path` itself) that were removed or moved away since the last event.
   * They may exist again by now. Renaming one file over another is not a removal.
   */
  watchRemovals(path: string, signal: AbortSignal): AsyncIterable<ReadonlySet<string>>;

  /** Space and inodes of the filesystem of `path`. */
  usage(path: string): Promise<FileSystemUsage>;

  /** Writes members into an existing folder; no member is written outside of it. */
  writeTree(root: string, options?: TreeWriterOptions): Promise<TreeWriter>;
  /** Opens the files of an existing folder by their relative paths. */
  openTree(root: string): Promise<TreeFiles>;
  /**
   * Yields a folder and everything in it; every member after its folder. Links are yielded, not followed, and other
   * filesystems are not entered. A file's content must be read before the next member is requested.
   */
  readTree(root: string, signal: AbortSignal): AsyncIterable<TreeMember>;
  /** The usage of a folder with everything in it; zero for a missing folder. */
  treeUsage(root: string, signal: AbortSignal): Promise<TreeUsage>;
}

export interface OpenFile extends AsyncDisposable {
  stat(): Promise<FileStat>;
  /** As `readRange`. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

export interface OpenDirectory extends AsyncDisposable {
  stat(): Promise<FileStat>;
  /** In batches, in no order; one batch is in memory at a time. */
  entries(): AsyncIterable<readonly FolderName[]>;
}

export interface FolderName {
  readonly name: string;
  readonly isFolder: boolean;
}

export interface WriteOptions {
  /** Ignores the umask; absent: 0666 with the umask for a new file. */
  readonly mode?: number;
}

export interface GroupAccess {
  readonly gid: number;
  /** Bits that are added to the mode of files that are neither folders nor links. */
  readonly fileMode: number;
  /** Bits that are added to the mode of folders. */
  readonly folderMode: number;
  /** Files that cannot be changed (immutable, or of a server that does not trust root) are skipped. */
  readonly skipsErrors?: boolean;
  /** Called with the number of files and folders so far, also for those that were skipped. */
  readonly onProgress?: (files: number) => void;
}

export type FileKind = 'file' | 'directory' | 'symlink' | 'socket' | 'characterDevice' | 'blockDevice' | 'fifo';

export interface DirectoryEntry {
  readonly name: string;
  readonly kind: FileKind;
}

export interface FileStat {
  readonly kind: FileKind;
  readonly size: number;
  /** Permission bits, setuid, setgid and sticky included (0o7777). */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly modifiedMs: number;
  readonly device: number;
  readonly inode: number;
  /** The device numbers of a character or block device. */
  readonly special?: DeviceNumbers;
}

export interface DeviceNumbers {
  readonly major: number;
  readonly minor: number;
}

export interface FileSystemUsage {
  readonly capacityBytes: number;
  /** Free for programs without privileges. */
  readonly availableBytes: number;
  /** In use by files; what only root may use is neither used nor available. */
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

/** Go's texts for these errnos: users search for them rather than for the errno name. */
const OUT_OF_SPACE_TEXTS: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on device',
  EDQUOT: 'disk quota exceeded',
};

export class FileSystemError extends ExpectedError {
  override readonly name = 'FileSystemError';
  /** `ENOENT`, `EACCES`, … */
  readonly code: string;
  readonly path: string;

  constructor(code: string, operation: string, path: string, options?: ErrorOptions) {
    const text = OUT_OF_SPACE_TEXTS[code];
    super(`${operation} ${path}: ${text === undefined ? code : `${text} (${code})`}`, options);
    this.code = code;
    this.path = path;
  }
}

/** Whether the disk or the quota is full. */
export function isOutOfSpace({ code }: { readonly code: string }): boolean {
  return Object.hasOwn(OUT_OF_SPACE_TEXTS, code);
}
