import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  futimesSync,
  lchownSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  open,
  openSync,
  write,
} from 'node:fs';
import { link, mkdir, rm, symlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { assertNever } from '../../base/assert-never.ts';
import { type FileKind, FileSystemError } from '../file-system.ts';
import type { TreeAttributes, TreeNode, TreeWriter } from '../tree.ts';
import { errnoCode } from './errno-code.ts';
import { fileKind } from './file-kind.ts';
import { makeNode, openInRoot, setXattr, syncFileSystem } from './tree-calls.ts';

const O_PATH = 0o10000000;
const OPEN_FOLDER = O_PATH | constants.O_DIRECTORY;
const CREATE_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** As many folders are held open: an archive comes back to few. */
const MOST_FOLDERS = 64;
const WITHOUT_XATTR: ReadonlySet<string | undefined> = new Set(['ENOTSUP', 'EOPNOTSUPP', 'EPERM']);
const writeAt = promisify(write);
const openPlace = promisify(open);

type File = Extract<TreeNode, { readonly kind: 'file' }>;

/**
 * What is made or written goes through Node's pool, for a busy disk makes us wait there. Attributes of what is open are set
 * at once on this thread: that takes microseconds, less than the way through the pool.
 */
export class LinuxTreeWriter implements TreeWriter {
  readonly implied = new Set<string>();
  readonly #shown: string;
  readonly #root: number;
  /** By path, the least used first. Names in them are looked up through /proc/self/fd, as openat(2) does. */
  readonly #folders = new Map<string, number>();
  readonly #folderTimes = new Map<string, number>();

  constructor(root: string) {
    this.#shown = root;
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
      const folder = this.#folder(parentOf(path), false);
      if (folder !== undefined) await this.#removeAt(below(folder, path));
    });
  }

  kind(path: string): Promise<FileKind | undefined> {
    return this.#attempt('kind', path, async () => {
      if (path === '') return 'directory';
      const folder = this.#folder(parentOf(path), false);
      const found = folder === undefined ? undefined : lstatSync(below(folder, path), { throwIfNoEntry: false });
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
      await syncFileSystem(root).finally(() => closeSync(root));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#forgetFolders();
    closeSync(this.#root);
  }

  #putRoot(node: TreeNode): void {
    if (node.kind !== 'directory') throw new FileSystemError('EISDIR', 'put', this.#shown);
    this.implied.delete('');
    setAttributes(`/proc/self/fd/${this.#root}/.`, node);
    this.#folderTimes.set('', node.modifiedMs);
  }

  async #make(path: string, place: string, node: TreeNode): Promise<void> {
    switch (node.kind) {
      case 'file':
        return writeFile(place, node);
      case 'directory':
        return this.#makeFolder(path, place, node);
      case 'symlink':
        await symlink(node.target, place);
        return setAttributes(place, node, { isLink: true });
      case 'hardLink':
        return link(this.#place(node.target), place);
      case 'characterDevice':
        makeNode(place, constants.S_IFCHR | 0o600, node.major, node.minor);
        return setAttributes(place, node);
      case 'blockDevice':
        makeNode(place, constants.S_IFBLK | 0o600, node.major, node.minor);
        return setAttributes(place, node);
      case 'fifo':
        makeNode(place, constants.S_IFIFO | 0o600);
        return setAttributes(place, node);
      default:
        return assertNever(node);
    }
  }

  async #makeFolder(path: string, place: string, node: TreeAttributes): Promise<void> {
    try {
      await mkdir(place, 0o700);
    } catch (error) {
      if (errnoCode(error) !== 'EEXIST' || !lstatSync(place).isDirectory()) throw error;
    }
    this.implied.delete(path);
    setAttributes(place, node);
    this.#folderTimes.set(path, node.modifiedMs);
  }

  #isSame(place: string, target: string): boolean {
    const [one, other] = [lstatSync(place), lstatSync(this.#place(target), { throwIfNoEntry: false })];
    if (other?.isDirectory()) throw new FileSystemError('EPERM', 'put', `${this.#shown}/${target}`);
    return one.ino === other?.ino && one.dev === other.dev;
  }

  /** In the folder that was found, even if the way to it led through what is replaced. */
  async #replace(path: string, place: string, node: TreeNode): Promise<void> {
    try {
      await rm(place, { recursive: true, force: true });
      await this.#make(path, place, node);
    } finally {
      this.#forgetFolders();
    }
  }

  async #removeAt(place: string): Promise<void> {
    await rm(place, { recursive: true, force: true });
    // A folder that is held open may have been below it, or a link may come in its stead. Not before: `place` goes
    // through one of them.
    this.#forgetFolders();
  }

  #place(path: string): string {
    return below(this.#folder(parentOf(path), true) ?? this.#root, path);
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
    try {
      return openInRoot(this.#root, path, OPEN_FOLDER);
    } catch (error) {
      if (errnoCode(error) !== 'ENOENT' && (make || errnoCode(error) !== 'ENOTDIR')) throw error;
      if (!make) return undefined;
    }
    const parent = this.#folder(parentOf(path), true);
    mkdirSync(below(parent, path), 0o755); // EEXIST: a link that leads nowhere, which is refused
    chmodSync(below(parent, path), 0o755); // mkdir(2) takes the umask off
    this.implied.add(path);
    return openInRoot(this.#root, path, OPEN_FOLDER);
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

async function writeFile(place: string, node: File): Promise<void> {
  const fd = await openPlace(place, CREATE_FILE, 0o600);
  try {
    for await (const chunk of node.content) {
      for (let written = 0; written < chunk.byteLength; ) {
        written += (await writeAt(fd, chunk, written, chunk.byteLength - written, null)).bytesWritten;
      }
    }
    fchownSync(fd, node.uid, node.gid);
    fchmodSync(fd, node.mode); // after chown(2), which takes setuid and setgid away
    setXattrs(place, node);
    futimesSync(fd, node.modifiedMs / 1000, node.modifiedMs / 1000);
  } finally {
    closeSync(fd);
  }
}

function setAttributes(place: string, node: TreeAttributes, { isLink = false } = {}): void {
  lchownSync(place, node.uid, node.gid);
  if (!isLink) chmodSync(place, node.mode);
  setXattrs(place, node);
  lutimesSync(place, node.modifiedMs / 1000, node.modifiedMs / 1000);
}

/** After chown(2), which takes capabilities away. */
function setXattrs(place: string, { xattrs }: TreeAttributes): void {
  for (const [name, value] of xattrs ?? []) {
    try {
      setXattr(place, name, value);
    } catch (error) {
      if (!WITHOUT_XATTR.has(errnoCode(error))) throw error;
    }
  }
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

function below(folder: number, path: string): string {
  return `/proc/self/fd/${folder}/${path.slice(path.lastIndexOf('/') + 1)}`;
}
