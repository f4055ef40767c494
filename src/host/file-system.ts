import type { TreeFiles, TreeMember, TreeUsage, TreeWriter, TreeWriterOptions } from './tree.ts';

/**
 * Files. Paths are absolute. Failures are `FileSystemError`s with the errno name in `code`, whichever the
 * implementation.
 */
export interface FileSystem {
  readFile(path: string, signal?: AbortSignal): Promise<Uint8Array>;
  /** UTF-8. */
  readText(path: string, signal?: AbortSignal): Promise<string>;
  /** At most `length` bytes from `offset` on; fewer at the end of the file, none behind it. */
  readRange(path: string, offset: number, length: number): Promise<Uint8Array>;

  /**
   * A regular file, to be read whatever becomes of its name meanwhile. Anything else fails without being waited for:
   * EISDIR for a folder, ENXIO for pipes, sockets and devices, ELOOP for a link that is not to be followed.
   */
  openFile(path: string, options?: { readonly followLink?: boolean }): Promise<OpenFile>;

  /**
   * The same for the relative `path` below `root`. Links are followed as long as they stay below (EXDEV), whoever changes
   * the tree meanwhile.
   */
  openFileBeneath(root: string, path: string): Promise<OpenFile>;

  /** Creates or truncates. For kernel files and logs; what must survive a crash goes through `writeAtomic`. */
  writeFile(path: string, data: string | Uint8Array, options?: WriteOptions): Promise<void>;
  appendFile(path: string, data: string | Uint8Array): Promise<void>;
  /** After a crash a reader finds the old bytes or the new, never a mix. One writer per path. */
  writeAtomic(path: string, data: string | Uint8Array, options?: WriteOptions): Promise<void>;
  /** The same without waiting for the disk: a `kill -9` cannot hurt the file, a loss of power can. */
  writeReplacing(path: string, data: string | Uint8Array, options?: WriteOptions): Promise<void>;

  /**
   * Creates missing parents too; an existing folder is fine and stays as it is. `mode` is of the last folder and
   * ignores the umask.
   */
  makeDirectory(path: string, mode?: number): Promise<void>;
  /**
   * Makes what is missing of the relative `path` below `root`, each folder with this mode. Safe whoever changes the tree
   * meanwhile: no link leads out of `root` (EXDEV), and nothing is made through one that leads nowhere.
   */
  makeDirectoryBeneath(root: string, path: string, mode: number): Promise<void>;
  /** Names in code-point order. */
  readDirectory(path: string): Promise<readonly DirectoryEntry[]>;
  /** Follows symbolic links; `undefined` when nothing is there (ENOENT, ENOTDIR). */
  stat(path: string): Promise<FileStat | undefined>;
  /** Does not follow the last link. */
  lstat(path: string): Promise<FileStat | undefined>;
  readLink(path: string): Promise<string>;
  /** The same place without links and dots: as the mount table spells it. Fails with ENOENT when nothing is there. */
  realPath(path: string): Promise<string>;
  symbolicLink(target: string, path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** `false`: there is something at `to` already, and nothing was changed. */
  renameUnlessTaken(from: string, to: string): Promise<boolean>;
  /**
   * Writes the bytes of `from` to `to` with gzip, created or truncated, with the mode of `from`. However large it is, it
   * takes little memory and keeps nobody waiting; what was written is on the disk when it resolves.
   */
  compressFile(from: string, to: string, signal: AbortSignal): Promise<void>;
  /** Follows symbolic links. */
  changeMode(path: string, mode: number): Promise<void>;
  /** Does not follow the last link. */
  changeOwner(path: string, uid: number, gid: number): Promise<void>;

  /** One file, link or empty folder; a missing one is fine. */
  remove(path: string): Promise<void>;
  /**
   * A whole tree; a missing one is fine. Never crosses into another file system: a mount point below `path` fails
   * with EBUSY and what is mounted there stays untouched. An abort ends it between two batches of entries.
   */
  removeTree(path: string, signal?: AbortSignal): Promise<void>;
  /**
   * Gives a file or folder with all that is in it to a group and adds permission bits, folders after what is in them. Safe
   * while the tree is changed: links are given to the group themselves, and nothing leads out. A missing one is fine.
   */
  giveTreeToGroup(root: string, access: GroupAccess, signal?: AbortSignal): Promise<void>;

  /**
   * Yields once it is watching, then again after anything in `path` (a file, or a folder and its direct children)
   * changed. A change is "look again", not a description: several may be told as one. Ends when the signal aborts.
   * Fails with ENOENT when nothing is there at first, or when the folder (of the file) goes away.
   */
  watch(path: string, signal: AbortSignal): AsyncIterable<void>;
  /**
   * As `watch`; yields which files of the folder (or the file itself, as `path`) were removed or moved away since the
   * last look. They may be there again by now. A file that is renamed over another one removes nothing.
   */
  watchRemovals(path: string, signal: AbortSignal): AsyncIterable<ReadonlySet<string>>;

  /** Space and inodes of the file system that holds `path`. */
  usage(path: string): Promise<FileSystemUsage>;

  /** Puts members into an existing folder, from which nothing leads out. */
  writeTree(root: string, options?: TreeWriterOptions): Promise<TreeWriter>;
  /** The files of an existing folder by their paths in it. */
  openTree(root: string): Promise<TreeFiles>;
  /**
   * All that is in a folder, and first the folder itself; every member after its folder. Links are told, not followed,
   * and other file systems are not entered. A file's content is to be read before the next member is asked for.
   */
  readTree(root: string, signal: AbortSignal): AsyncIterable<TreeMember>;
  /** Of the folder with all that is in it; nothing there takes nothing. */
  treeUsage(root: string, signal: AbortSignal): Promise<TreeUsage>;
}

export interface OpenFile extends AsyncDisposable {
  stat(): Promise<FileStat>;
  /** As `readRange`. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

export interface WriteOptions {
  /** Exact, whatever the umask; absent: 0666 without the umask for a new file. */
  readonly mode?: number;
}

export interface GroupAccess {
  readonly gid: number;
  /** Bits that are added to the mode of what is no folder and no link. */
  readonly fileMode: number;
  /** Bits that are added to the mode of folders. */
  readonly folderMode: number;
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
  /** Of a character or block device: which one it stands for. */
  readonly special?: DeviceNumbers;
}

export interface DeviceNumbers {
  readonly major: number;
  readonly minor: number;
}

export interface FileSystemUsage {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

/** What Go prints for these: a user finds more by it than by the name of the errno. */
const WORDS: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on device',
  EDQUOT: 'disk quota exceeded',
};

export class FileSystemError extends Error {
  override readonly name = 'FileSystemError';
  /** `ENOENT`, `EACCES`, … */
  readonly code: string;
  readonly path: string;

  constructor(code: string, operation: string, path: string, options?: ErrorOptions) {
    const words = WORDS[code];
    super(`${operation} ${path}: ${words === undefined ? code : `${words} (${code})`}`, options);
    this.code = code;
    this.path = path;
  }
}

/** Whether there was no space for what was to be written. */
export function isOutOfSpace({ code }: { readonly code: string }): boolean {
  return Object.hasOwn(WORDS, code);
}
