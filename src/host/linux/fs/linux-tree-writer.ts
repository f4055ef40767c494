import {
  chmodSync,
  closeSync,
  constants,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  symlinkSync,
} from 'node:fs';
import { link, mkdir, symlink } from 'node:fs/promises';
import { assertNever } from '../../../base/assert-never.ts';
import { bytesOfFileName } from '../../file-name.ts';
import { type FileKind, FileSystemError } from '../../file-system.ts';
import type { TreeAttributes, TreeNode, TreeWriter, TreeWriterOptions } from '../../tree.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { makeNode, openInRoot, setXattr, syncfs } from '../sys/file-calls.ts';
import { baseName, type KernelPath, parentPath, pathInFolder } from '../sys/kernel-path.ts';
import { fileKind } from './file-kind.ts';
import { removeAllIn, removeIn } from './remove-tree.ts';
import { syncWhileFast } from './sync-while-fast.ts';
import { setTreeAttributes, writeTreeFile } from './write-tree-file.ts';

const O_PATH = 0o10000000;
const OPEN_FOLDER = O_PATH | constants.O_DIRECTORY;
/** Folders that are kept open: an archive returns to few. */
const MAX_FOLDERS = 64;

/** Files are created and written through `syncWhileFast`; attributes of open files are set on this thread. */
export class LinuxTreeWriter implements TreeWriter {
  readonly implied = new Set<string>();
  readonly #rootPath: string;
  readonly #root: number;
  /** By path, the least recently used first. Names in them are looked up below /proc/self/fd, like openat(2). */
  readonly #folders = new Map<string, number>();
  readonly #folderTimes = new Map<string, number>();

  readonly #options: TreeWriterOptions;

  constructor(root: string, options: TreeWriterOptions = {}) {
    this.#rootPath = root;
    this.#options = options;
    this.#root = openSync(root, OPEN_FOLDER);
  }

  put(path: string, node: TreeNode): Promise<void> {
    return this.#attempt('put', path, async () => {
      if (path === '') return this.#putRoot(node);
      const kernelPath = this.#kernelPath(path);
      try {
        await this.#make(path, kernelPath, node);
      } catch (error) {
        if (errnoCode(error) !== 'EEXIST') throw error;
        if (node.kind === 'hardLink' && this.#isSame(kernelPath, node.target)) return;
        await this.#replace(path, kernelPath, node);
      }
    });
  }

  remove(path: string): Promise<void> {
    return this.#attempt('remove', path, async () => {
      if (path === '') return this.#removeAll();
      const folder = this.#folder(parentPath(path), false);
      if (folder !== undefined) await this.#removeIn(folder, path);
    });
  }

  kind(path: string): Promise<FileKind | undefined> {
    return this.#attempt('kind', path, async () => {
      if (path === '') return 'directory';
      const folder = this.#folder(parentPath(path), false);
      const found = folder === undefined ? undefined : lstatSync(pathInParent(folder, path), { throwIfNoEntry: false });
      return found && fileKind(found);
    });
  }

  setXattr(path: string, name: string, value: Uint8Array): Promise<void> {
    return this.#attempt('setXattr', path, async () =>
      setXattr(path === '' ? `/proc/self/fd/${this.#root}/.` : this.#kernelPath(path), name, value),
    );
  }

  finish({ toDisk = false }: { readonly toDisk?: boolean } = {}): Promise<void> {
    return this.#attempt('finish', '', async () => {
      for (const [path, modifiedMs] of this.#folderTimes) {
        const folder = this.#folder(path, false);
        if (folder !== undefined) lutimesSync(`/proc/self/fd/${folder}/.`, modifiedMs / 1000, modifiedMs / 1000);
      }
      this.#folderTimes.clear();
      if (!toDisk) return;
      const root = openSync(`/proc/self/fd/${this.#root}/.`, constants.O_RDONLY);
      await syncfs.async(root).finally(() => closeSync(root));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closeFolders();
    closeSync(this.#root);
  }

  #putRoot(node: TreeNode): void {
    if (node.kind !== 'directory') throw new FileSystemError('EISDIR', 'put', this.#rootPath);
    this.implied.delete('');
    setTreeAttributes(`/proc/self/fd/${this.#root}/.`, node);
    this.#folderTimes.set('', node.modifiedMs);
  }

  async #make(path: string, kernelPath: KernelPath, node: TreeNode): Promise<void> {
    switch (node.kind) {
      case 'file':
        return writeTreeFile(kernelPath, node);
      case 'directory':
        return this.#makeFolder(path, kernelPath, node);
      case 'symlink':
        await makeSymlink(bytesOfFileName(node.target), kernelPath);
        return setTreeAttributes(kernelPath, node, { isLink: true });
      case 'hardLink':
        return makeHardLink(this.#kernelPath(node.target), kernelPath);
      case 'characterDevice':
        makeNode(kernelPath, constants.S_IFCHR | 0o600, node.major, node.minor);
        return setTreeAttributes(kernelPath, node);
      case 'blockDevice':
        makeNode(kernelPath, constants.S_IFBLK | 0o600, node.major, node.minor);
        return setTreeAttributes(kernelPath, node);
      case 'fifo':
        makeNode(kernelPath, constants.S_IFIFO | 0o600);
        return setTreeAttributes(kernelPath, node);
      default:
        return assertNever(node);
    }
  }

  async #makeFolder(path: string, kernelPath: KernelPath, node: TreeAttributes): Promise<void> {
    try {
      await syncWhileFast(
        () => mkdirSync(kernelPath, 0o700),
        () => mkdir(kernelPath, 0o700),
      );
    } catch (error) {
      if (errnoCode(error) !== 'EEXIST' || !lstatSync(kernelPath).isDirectory()) throw error;
    }
    this.implied.delete(path);
    setTreeAttributes(kernelPath, node);
    this.#folderTimes.set(path, node.modifiedMs);
  }

  #isSame(kernelPath: KernelPath, target: string): boolean {
    const [one, other] = [lstatSync(kernelPath), lstatSync(this.#kernelPath(target), { throwIfNoEntry: false })];
    if (other?.isDirectory()) throw new FileSystemError('EPERM', 'put', `${this.#rootPath}/${target}`);
    return one.ino === other?.ino && one.dev === other.dev;
  }

  /** In the folder that was found, even if the path to it led through what is replaced. */
  async #replace(path: string, kernelPath: KernelPath, node: TreeNode): Promise<void> {
    await this.#options.onReplace?.(path, fileKind(lstatSync(kernelPath)));
    try {
      await removeIn(this.#folder(parentPath(path), true), baseName(path), this.#rootPath);
      await this.#make(path, kernelPath, node);
    } finally {
      this.#closeFolders();
    }
  }

  async #removeAll(): Promise<void> {
    await removeAllIn(this.#root, this.#rootPath);
    this.#closeFolders();
  }

  async #removeIn(folder: number, path: string): Promise<void> {
    await removeIn(folder, baseName(path), this.#rootPath);
    // An open folder may have been below it, or a link may replace it. Not earlier: `folder` is one of them.
    this.#closeFolders();
  }

  #kernelPath(path: string): KernelPath {
    return pathInParent(this.#folder(parentPath(path), true), path);
  }

  #folder(path: string, make: true): number;
  #folder(path: string, make: boolean): number | undefined;
  #folder(path: string, make: boolean): number | undefined {
    if (path === '') return this.#root;
    const known = this.#folders.get(path);
    if (known !== undefined) {
      this.#folders.delete(path);
      this.#folders.set(path, known);
      return known;
    }
    const opened = this.#open(path, make);
    if (opened === undefined) return undefined;
    for (const [oldest, fd] of this.#folders) {
      if (this.#folders.size < MAX_FOLDERS) break;
      this.#folders.delete(oldest);
      closeSync(fd);
    }
    this.#folders.set(path, opened);
    return opened;
  }

  #open(path: string, make: boolean): number | undefined {
    const found = this.#find(path, make);
    return found === undefined && make ? this.#makeFolders(path) : found;
  }

  /** `undefined`: it does not exist. */
  #find(path: string, make: boolean): number | undefined {
    try {
      return openInRoot(this.#root, path === '' ? '.' : bytesOfFileName(path), OPEN_FOLDER);
    } catch (error) {
      if (errnoCode(error) !== 'ENOENT' && (make || errnoCode(error) !== 'ENOTDIR')) throw error;
      return undefined;
    }
  }

  /** Opens each folder in its parent: resolving every path from the root would take quadratic time. */
  #makeFolders(path: string): number {
    const prefixes = prefixesOf(path);
    const there = this.#countExisting(prefixes);
    let folder = this.#find(prefixes[there - 1] ?? '', true) ?? -1; // it was just found
    for (const prefix of prefixes.slice(there)) {
      const parent = folder;
      try {
        mkdirSync(pathInParent(parent, prefix), 0o755); // EEXIST: a dangling link, which is rejected
        chmodSync(pathInParent(parent, prefix), 0o755); // mkdir(2) applies the umask
        this.implied.add(prefix);
        folder = openSync(pathInParent(parent, prefix), OPEN_FOLDER | constants.O_NOFOLLOW);
      } finally {
        closeSync(parent);
      }
    }
    return folder;
  }

  /** How many of these, each below the previous one, exist; by binary search. */
  #countExisting(prefixes: readonly string[]): number {
    let [there, missing] = [0, prefixes.length];
    while (missing - there > 1) {
      const middle = Math.floor((there + missing) / 2);
      const found = this.#find(prefixes[middle - 1] ?? '', true);
      if (found === undefined) missing = middle;
      else {
        closeSync(found);
        there = middle;
      }
    }
    return there;
  }

  #closeFolders(): void {
    for (const fd of this.#folders.values()) closeSync(fd);
    this.#folders.clear();
  }

  async #attempt<T>(operation: string, path: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const code = errnoCode(error);
      if (error instanceof FileSystemError || code === undefined || code.startsWith('ERR_')) throw error;
      throw new FileSystemError(code, operation, `${this.#rootPath}/${path}`, { cause: error });
    }
  }
}

/** `a`, `a/b`, `a/b/c` */
function prefixesOf(path: string): readonly string[] {
  return [...path.matchAll(/\/|$/g)].map(({ index }) => path.slice(0, index));
}

function pathInParent(folder: number, path: string): KernelPath {
  return pathInFolder(folder, baseName(path));
}

function makeSymlink(target: KernelPath, kernelPath: KernelPath): Promise<void> {
  return syncWhileFast(
    () => symlinkSync(target, kernelPath),
    () => symlink(target, kernelPath),
  );
}

function makeHardLink(known: KernelPath, kernelPath: KernelPath): Promise<void> {
  return syncWhileFast(
    () => linkSync(known, kernelPath),
    () => link(known, kernelPath),
  );
}
