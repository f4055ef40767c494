import { posix } from 'node:path';
import { gzipSync } from 'node:zlib';
import {
  type DeviceNumbers,
  type DirectoryEntry,
  type FileStat,
  type FileSystem,
  FileSystemError,
  type FileSystemUsage,
  type GroupAccess,
  type OpenDirectory,
  type OpenFile,
  type WriteOptions,
} from '../file-system.ts';
import type { TreeFiles, TreeMember, TreeUsage, TreeWriter, TreeWriterOptions } from '../tree.ts';
import { Errno } from './errno.ts';
import { ErrorInjector } from './error-injector.ts';
import { MemoryFiles } from './memory-files.ts';
import { DEFAULT_USAGE, openFolder, openInode, statOf } from './memory-inode.ts';
import { MemoryTree } from './memory-tree.ts';
import { membersOf, setGroup, treeUsageOf } from './memory-tree-reader.ts';
import { MemoryTreeWriter } from './memory-tree-writer.ts';
import { MemoryWatches } from './memory-watches.ts';

/** The operations that can fail by injection. */
export type FileOperation = Exclude<keyof FileSystem, 'watch' | 'watchRemovals' | 'readTree'>;

const NEEDS_SPACE: ReadonlySet<FileOperation> = new Set([
  'writeFile',
  'appendFile',
  'writeAtomic',
  'writeReplacing',
  'makeDirectory',
  'makeDirectoryBeneath',
  'symbolicLink',
  'compressFile',
  'writeTree',
]);

/**
 * In-memory files, as root with umask 022 sees them. An agent that is restarted on the same object finds everything that was
 * written: power losses are not simulated.
 */
export class MemoryFileSystem implements FileSystem {
  /** `errors.failNext('writeAtomic', 'EIO')`. */
  readonly errors = new ErrorInjector<FileOperation>();
  /** While set, operations that need space fail with ENOSPC. */
  isFull = false;
  /** The same below this folder only, as if it were a separate filesystem. */
  fullFolder: string | undefined;
  /** Inodes and mounts: shared with the other fakes of a host. */
  readonly tree: MemoryTree;
  readonly #watches = new MemoryWatches();
  readonly #files: MemoryFiles;
  readonly #usage = new Map<number, FileSystemUsage>();

  constructor(now: () => number) {
    this.tree = new MemoryTree(now);
    this.#files = new MemoryFiles(this.tree, this.#watches, now);
  }

  readFile(path: string, signal?: AbortSignal): Promise<Uint8Array> {
    return this.#do('readFile', path, () => this.#files.file(path).bytes.slice(), signal);
  }

  readText(path: string, signal?: AbortSignal): Promise<string> {
    return this.#do('readText', path, () => new TextDecoder().decode(this.#files.file(path).bytes), signal);
  }

  readRange(path: string, offset: number, length: number): Promise<Uint8Array> {
    return this.#do('readRange', path, () => this.#files.file(path).bytes.slice(offset, offset + length));
  }

  openFile(path: string, { followLink = true }: { readonly followLink?: boolean } = {}): Promise<OpenFile> {
    return this.#do('openFile', path, () => openInode(this.#files.find(path, followLink).inode));
  }

  openFileBeneath(root: string, path: string): Promise<OpenFile> {
    return this.#do('openFileBeneath', `${root}/${path}`, () => openInode(this.tree.locateBeneath(root, path).inode));
  }

  openDirectoryBeneath(root: string, path: string): Promise<OpenDirectory> {
    const open = (): OpenDirectory => openFolder(this.tree.locateBeneath(root, path).inode);
    return this.#do('openDirectoryBeneath', `${root}/${path}`, open);
  }

  writeFile(path: string, data: string | Uint8Array, options?: WriteOptions): Promise<void> {
    return this.#do('writeFile', path, () => this.#files.write(path, () => bytesOf(data), options?.mode));
  }

  appendFile(path: string, data: string | Uint8Array): Promise<void> {
    const append = (old: Uint8Array): Uint8Array => new Uint8Array(Buffer.concat([old, bytesOf(data)]));
    return this.#do('appendFile', path, () => this.#files.write(path, append));
  }

  writeAtomic(path: string, data: string | Uint8Array, options?: WriteOptions): Promise<void> {
    return this.#do('writeAtomic', path, () => this.#files.replaceFile(path, bytesOf(data), options?.mode ?? 0o644));
  }

  writeReplacing(path: string, data: string | Uint8Array, options?: WriteOptions): Promise<void> {
    return this.#do('writeReplacing', path, () => this.#files.replaceFile(path, bytesOf(data), options?.mode ?? 0o644));
  }

  makeDirectory(path: string, mode = 0o755): Promise<void> {
    return this.#do('makeDirectory', path, () => this.#files.makeDirectory(path, mode));
  }

  makeDirectoryBeneath(root: string, path: string, mode: number): Promise<void> {
    const shown = `${root}/${path}`;
    return this.#do('makeDirectoryBeneath', shown, () => this.#files.makeDirectoryBeneath(root, path, mode));
  }

  readDirectory(path: string): Promise<readonly DirectoryEntry[]> {
    return this.#do('readDirectory', path, () => this.#files.list(path));
  }

  stat(path: string): Promise<FileStat | undefined> {
    return this.#do('stat', path, () => unlessMissing(() => statOf(this.#files.find(path, true).inode)));
  }

  lstat(path: string): Promise<FileStat | undefined> {
    return this.#do('lstat', path, () => unlessMissing(() => statOf(this.#files.find(path, false).inode)));
  }

  readLink(path: string): Promise<string> {
    return this.#do('readLink', path, () => {
      const { inode } = this.#files.find(path, false);
      if (inode.kind !== 'symlink') throw new Errno('EINVAL');
      return inode.target;
    });
  }

  realPath(path: string): Promise<string> {
    return this.#do('realPath', path, () => this.#files.find(path, true).path);
  }

  symbolicLink(target: string, path: string): Promise<void> {
    return this.#do('symbolicLink', path, () => this.#files.create(path, { kind: 'symlink', mode: 0o777, target }));
  }

  rename(from: string, to: string): Promise<void> {
    return this.#do('rename', from, () => this.#files.rename(from, to));
  }

  renameUnlessTaken(from: string, to: string): Promise<boolean> {
    return this.#do('renameUnlessTaken', from, () => {
      this.#files.find(from, false);
      if (this.tree.locate(to, false).inode !== undefined) return false;
      this.#files.rename(from, to);
      return true;
    });
  }

  compressFile(from: string, to: string, signal: AbortSignal): Promise<void> {
    const compress = (): void => {
      const { bytes, mode } = this.#files.file(from);
      this.#files.write(to, () => new Uint8Array(gzipSync(bytes)), mode);
    };
    return this.#do('compressFile', from, compress, signal);
  }

  changeMode(path: string, mode: number): Promise<void> {
    return this.#do('changeMode', path, () => this.#files.change(path, true, { mode }));
  }

  changeOwner(path: string, uid: number, gid: number): Promise<void> {
    return this.#do('changeOwner', path, () => this.#files.change(path, false, { uid, gid }));
  }

  remove(path: string): Promise<void> {
    return this.#do('remove', path, () => unlessMissing(() => this.#files.remove(path)));
  }

  removeTree(path: string, signal?: AbortSignal): Promise<void> {
    const remove = (): void => {
      const blocking = unlessMissing(() => this.#files.removeTree(path));
      if (blocking) throw new FileSystemError('EBUSY', 'removeTree', blocking.mountPoint);
    };
    return this.#do('removeTree', path, remove, signal);
  }

  setTreeGroup(root: string, access: GroupAccess, signal?: AbortSignal): Promise<void> {
    const found = () => unlessMissing(() => this.#files.find(root, false).inode);
    return this.#do('setTreeGroup', root, () => setGroup(found(), access), signal);
  }

  async *watch(path: string, signal: AbortSignal): AsyncGenerator<void, void, void> {
    for await (const _ of this.watchRemovals(path, signal)) yield;
  }

  async *watchRemovals(path: string, signal: AbortSignal): AsyncGenerator<ReadonlySet<string>, void, void> {
    if (signal.aborted) return;
    const isFolder = this.#watched(path, path).kind === 'directory';
    const folderPath = isFolder ? path : posix.dirname(path);
    const folder = this.#watched(folderPath, path);
    if (folder.kind !== 'directory') throw new FileSystemError('ENOTDIR', 'watch', path);
    const checkFolder = (): void => {
      if (this.#watched(folderPath, path) !== folder) throw new FileSystemError('ENOENT', 'watch', path);
    };
    const name = isFolder ? undefined : posix.basename(path);
    for await (const names of this.#watches.follow(folder, name, checkFolder, signal)) {
      yield new Set([...names].map((each) => (isFolder ? `${path}/${each}` : path)));
    }
  }

  usage(path: string): Promise<FileSystemUsage> {
    return this.#do('usage', path, () => this.#usage.get(this.#files.find(path, true).inode.device) ?? DEFAULT_USAGE);
  }

  /** Injected errors of `writeTree` also apply to `put`: `failNext('writeTree', 'ENOSPC', '/root/etc/file')`. */
  writeTree(root: string, options: TreeWriterOptions = {}): Promise<TreeWriter> {
    return this.#do('writeTree', root, () => this.#tree(root, options));
  }

  openTree(root: string): Promise<TreeFiles> {
    return this.#do('openTree', root, () => this.#tree(root, {}));
  }

  async *readTree(root: string, signal: AbortSignal): AsyncGenerator<TreeMember, void, void> {
    signal.throwIfAborted();
    yield* membersOf(this.#watched(root, root));
  }

  treeUsage(root: string, signal: AbortSignal): Promise<TreeUsage> {
    return this.#do(
      'treeUsage',
      root,
      () => treeUsageOf(unlessMissing(() => this.#files.find(root, false).inode)),
      signal,
    );
  }

  /** Sets the result of `usage` for the filesystem of `path`. Without `usedBytes`, nothing is reserved for root. */
  setUsage(path: string, usage: Omit<FileSystemUsage, 'usedBytes'> & Partial<FileSystemUsage>): void {
    const usedBytes = usage.capacityBytes - usage.availableBytes;
    this.#usage.set(this.#files.find(path, true).inode.device, { usedBytes, ...usage });
  }

  /** Creates a socket file and returns its inode. Throws an `Errno` when the path exists. */
  createSocket(path: string, mode: number): number {
    this.#files.create(path, { kind: 'socket', mode });
    return this.#files.find(path, false).inode.inode;
  }

  /** Creates a device file. */
  createDevice(path: string, kind: 'characterDevice' | 'blockDevice', special: DeviceNumbers, mode = 0o666): void {
    this.#files.create(path, { kind, special, mode });
  }

  async #do<T>(operation: FileOperation, path: string, work: () => T, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    const code = this.errors.take(operation, path) ?? this.#outOfSpace(operation, path);
    if (code) throw new FileSystemError(code, operation, path);
    try {
      return work();
    } catch (error) {
      throw error instanceof Errno ? new FileSystemError(error.code, operation, path, { cause: error }) : error;
    }
  }

  #outOfSpace(operation: FileOperation, path: string): 'ENOSPC' | undefined {
    const isFull = this.isFull || (this.fullFolder !== undefined && `${path}/`.startsWith(`${this.fullFolder}/`));
    const exists = () => operation === 'makeDirectory' && unlessMissing(() => this.#files.find(path, true));
    return isFull && NEEDS_SPACE.has(operation) && !exists() ? 'ENOSPC' : undefined;
  }

  #tree(root: string, options: TreeWriterOptions): MemoryTreeWriter {
    const { inode } = this.#files.find(root, true);
    if (inode.kind !== 'directory') throw new Errno('ENOTDIR');
    const injectedError = (path: string) => this.errors.take('writeTree', path) ?? this.#outOfSpace('writeTree', path);
    return new MemoryTreeWriter(root, inode, { ...options, tree: this.tree, injectedError });
  }

  #watched(path: string, watched: string) {
    try {
      return this.#files.find(path, true).inode;
    } catch (error) {
      throw error instanceof Errno ? new FileSystemError(error.code, 'watch', watched, { cause: error }) : error;
    }
  }
}

function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? new TextEncoder().encode(data) : data.slice();
}

function unlessMissing<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof Errno && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return undefined;
    throw error;
  }
}
