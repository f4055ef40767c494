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
import { type KernelPath, nameIn, parentOf, pathInFolder } from '../sys/kernel-path.ts';
import { atDiskPace } from './disk-pace.ts';
import { fileKind } from './file-kind.ts';
import { removeAllIn, removeIn } from './remove-tree.ts';
import { setTreeAttributes, writeTreeFile } from './write-tree-file.ts';

const O_PATH = 0o10000000;
const OPEN_FOLDER = O_PATH | constants.O_DIRECTORY;
/** As many folders are held open: an archive comes back to few. */
const MOST_FOLDERS = 64;

/** What is made or written is done at the pace of the disk; attributes of what is open are set at once on this thread. */
export class LinuxTreeWriter implements TreeWriter {
  readonly implied = new Set<string>();
  readonly #shown: string;
  readonly #root: number;
  /** By path, the least used first. Names in them are looked up through /proc/self/fd, as openat(2) does. */
  readonly #folders = new Map<string, number>();
  readonly #folderTimes = new Map<string, number>();

  readonly #options: TreeWriterOptions;

  constructor(root: string, options: TreeWriterOptions = {}) {
    this.#shown = root;
    this.#options = options;
    this.#root = openSync(root, OPEN_FOLDER);
  }

  put(path: string, node: TreeNode): Promise<void> {
    return this.#attempt('put', path, async () => {
      if (path === '') return this.#putRoot(node);
      const place = this.#place(path);
      try {
        await this.#make(path, place, node);
      } catch (error) {
        if (errnoCode(error) !== 'EEXIST') throw error;
        if (node.kind === 'hardLink' && this.#isSame(place, node.target)) return;
        await this.#replace(path, place, node);
      }
    });
  }

  remove(path: string): Promise<void> {
    return this.#attempt('remove', path, async () => {
      if (path === '') return this.#removeAll();
      const folder = this.#folder(parentOf(path), false);
      if (folder !== undefined) await this.#removeIn(folder, path);
    });
  }

  kind(path: string): Promise<FileKind | undefined> {
    return this.#attempt('kind', path, async () => {
      if (path === '') return 'directory';
      const folder = this.#folder(parentOf(path), false);
      const found = folder === undefined ? undefined : lstatSync(placeOf(folder, path), { throwIfNoEntry: false });
      return found && fileKind(found);
    });
  }

  setXattr(path: string, name: string, value: Uint8Array): Promise<void> {
    return this.#attempt('setXattr', path, async () =>
      setXattr(path === '' ? `/proc/self/fd/${this.#root}/.` : this.#place(path), name, value),
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
    this.#forgetFolders();
    closeSync(this.#root);
  }

  #putRoot(node: TreeNode): void {
    if (node.kind !== 'directory') throw new FileSystemError('EISDIR', 'put', this.#shown);
    this.implied.delete('');
    setTreeAttributes(`/proc/self/fd/${this.#root}/.`, node);
    this.#folderTimes.set('', node.modifiedMs);
  }

  async #make(path: string, place: KernelPath, node: TreeNode): Promise<void> {
    switch (node.kind) {
      case 'file':
        return writeTreeFile(place, node);
      case 'directory':
        return this.#makeFolder(path, place, node);
      case 'symlink':
        await makeLink(bytesOfFileName(node.target), place);
        return setTreeAttributes(place, node, { isLink: true });
      case 'hardLink':
        return makeName(this.#place(node.target), place);
      case 'characterDevice':
        makeNode(place, constants.S_IFCHR | 0o600, node.major, node.minor);
        return setTreeAttributes(place, node);
      case 'blockDevice':
        makeNode(place, constants.S_IFBLK | 0o600, node.major, node.minor);
        return setTreeAttributes(place, node);
      case 'fifo':
        makeNode(place, constants.S_IFIFO | 0o600);
        return setTreeAttributes(place, node);
      default:
        return assertNever(node);
    }
  }

  async #makeFolder(path: string, place: KernelPath, node: TreeAttributes): Promise<void> {
    try {
      await atDiskPace(
        () => mkdirSync(place, 0o700),
        () => mkdir(place, 0o700),
      );
    } catch (error) {
      if (errnoCode(error) !== 'EEXIST' || !lstatSync(place).isDirectory()) throw error;
    }
    this.implied.delete(path);
    setTreeAttributes(place, node);
    this.#folderTimes.set(path, node.modifiedMs);
  }

  #isSame(place: KernelPath, target: string): boolean {
    const [one, other] = [lstatSync(place), lstatSync(this.#place(target), { throwIfNoEntry: false })];
    if (other?.isDirectory()) throw new FileSystemError('EPERM', 'put', `${this.#shown}/${target}`);
    return one.ino === other?.ino && one.dev === other.dev;
  }

  /** In the folder that was found, even if the way to it led through what is replaced. */
  async #replace(path: string, place: KernelPath, node: TreeNode): Promise<void> {
    await this.#options.onReplace?.(path, fileKind(lstatSync(place)));
    try {
      await removeIn(this.#folder(parentOf(path), true), nameIn(path), this.#shown);
      await this.#make(path, place, node);
    } finally {
      this.#forgetFolders();
    }
  }

  async #removeAll(): Promise<void> {
    await removeAllIn(this.#root, this.#shown);
    this.#forgetFolders();
  }

  async #removeIn(folder: number, path: string): Promise<void> {
    await removeIn(folder, nameIn(path), this.#shown);
    // A folder that is held open may have been below it, or a link may come in its stead. Not before: `folder` is one of
    // them.
    this.#forgetFolders();
  }

  #place(path: string): KernelPath {
    return placeOf(this.#folder(parentOf(path), true), path);
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
      if (this.#folders.size < MOST_FOLDERS) break;
      this.#folders.delete(oldest);
      closeSync(fd);
    }
    this.#folders.set(path, opened);
    return opened;
  }

  #open(path: string, make: boolean): number | undefined {
    const found = this.#find(path, make);
    return found === undefined && make ? this.#makeWay(path) : found;
  }

  /** `undefined`: it is missing. */
  #find(path: string, make: boolean): number | undefined {
    try {
      return openInRoot(this.#root, path === '' ? '.' : bytesOfFileName(path), OPEN_FOLDER);
    } catch (error) {
      if (errnoCode(error) !== 'ENOENT' && (make || errnoCode(error) !== 'ENOTDIR')) throw error;
      return undefined;
    }
  }

  /** Each step goes on from the folder before: a path from the root takes the longer the deeper it leads. */
  #makeWay(path: string): number {
    const ways = waysTo(path);
    const there = this.#deepest(ways);
    let folder = this.#find(ways[there - 1] ?? '', true) ?? -1; // it was there right now
    for (const way of ways.slice(there)) {
      const parent = folder;
      try {
        mkdirSync(placeOf(parent, way), 0o755); // EEXIST: a link that leads nowhere, which is refused
        chmodSync(placeOf(parent, way), 0o755); // mkdir(2) takes the umask off
        this.implied.add(way);
        folder = openSync(placeOf(parent, way), OPEN_FOLDER | constants.O_NOFOLLOW);
      } finally {
        closeSync(parent);
      }
    }
    return folder;
  }

  /** How many of these, each below the one before, are there; found by halving. */
  #deepest(ways: readonly string[]): number {
    let [there, missing] = [0, ways.length];
    while (missing - there > 1) {
      const middle = Math.floor((there + missing) / 2);
      const found = this.#find(ways[middle - 1] ?? '', true);
      if (found === undefined) missing = middle;
      else {
        closeSync(found);
        there = middle;
      }
    }
    return there;
  }

  #forgetFolders(): void {
    for (const fd of this.#folders.values()) closeSync(fd);
    this.#folders.clear();
  }

  async #attempt<T>(operation: string, path: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const code = errnoCode(error);
      if (error instanceof FileSystemError || code === undefined || code.startsWith('ERR_')) throw error;
      throw new FileSystemError(code, operation, `${this.#shown}/${path}`, { cause: error });
    }
  }
}

/** `a`, `a/b`, `a/b/c` */
function waysTo(path: string): readonly string[] {
  return [...path.matchAll(/\/|$/g)].map(({ index }) => path.slice(0, index));
}

function placeOf(folder: number, path: string): KernelPath {
  return pathInFolder(folder, nameIn(path));
}

function makeLink(target: KernelPath, place: KernelPath): Promise<void> {
  return atDiskPace(
    () => symlinkSync(target, place),
    () => symlink(target, place),
  );
}

/** One more for what is there. */
function makeName(known: KernelPath, place: KernelPath): Promise<void> {
  return atDiskPace(
    () => linkSync(known, place),
    () => link(known, place),
  );
}
