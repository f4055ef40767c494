import { fileNameLength } from '../file-name.ts';
import { type FileKind, FileSystemError } from '../file-system.ts';
import type { FileExtent, OwnContent, TreeFiles, TreeNode, TreeWriter, TreeWriterOptions } from '../tree.ts';
import { Errno } from './errno.ts';
import type { DirectoryInode, Inode, NewInode } from './memory-inode.ts';
import type { MemoryTree } from './memory-tree.ts';

/** More links in one path fail with ELOOP, as in the kernel. */
const MAX_LINKS = 40;

/** The kernel's limits of a name, and of a path with its terminating zero. */
const MAX_NAME_BYTES = 255;
const MAX_PATH_BYTES = 4095;
const MAX_FILE_BYTES = 2 ** 30;

interface WriterDeps extends TreeWriterOptions {
  readonly tree: MemoryTree;
  /** The errno name that the path must fail with, if any. */
  readonly injectedError: (path: string) => string | undefined;
}

/** A name of a path that is being resolved; `path` is `undefined` for names of a link's target. */
interface Step {
  readonly name: string;
  readonly path: string | undefined;
}

/** Fills and reads an in-memory folder, which acts as the root. */
export class MemoryTreeWriter implements TreeWriter, TreeFiles {
  readonly implied = new Set<string>();
  readonly #rootPath: string;
  readonly #root: DirectoryInode;
  readonly #deps: WriterDeps;
  readonly #folderTimes = new Map<string, number>();

  constructor(rootPath: string, root: DirectoryInode, deps: WriterDeps) {
    this.#rootPath = rootPath;
    this.#root = root;
    this.#deps = deps;
  }

  async put(path: string, node: TreeNode): Promise<void> {
    this.#attempt('put', path, () => this.#throwInjected(path));
    this.#attempt('put', path, () => checkPathLength(path));
    if (path === '' && node.kind !== 'directory') throw new FileSystemError('EISDIR', 'put', this.#rootPath);
    const content = node.kind === 'file' ? await this.#bytesOf(path, node) : new Uint8Array();
    await this.#notifyReplace(path, node);
    this.#attempt('put', path, () => this.#put(path, node, content));
  }

  async *read(path: string, { offset, length }: FileExtent): AsyncGenerator<Uint8Array, void, void> {
    const inode = this.#attempt('read', path, () => this.#target(path));
    if (inode.kind === 'directory') throw new FileSystemError('EISDIR', 'open', `${this.#rootPath}/${path}`);
    if (inode.kind !== 'file') throw new FileSystemError('ENXIO', 'open', `${this.#rootPath}/${path}`);
    const bytes = inode.bytes.slice(offset, offset + length);
    if (bytes.byteLength > 0) yield bytes;
  }

  async remove(path: string): Promise<void> {
    this.#attempt('remove', path, () => {
      if (path === '') this.#resolve('', false)?.entries.clear();
      else this.#resolve(parentPath(path), false)?.entries.delete(baseName(path));
    });
  }

  async kind(path: string): Promise<FileKind | undefined> {
    if (path === '') return 'directory';
    return this.#attempt('kind', path, () => this.#resolve(parentPath(path), false)?.entries.get(baseName(path))?.kind);
  }

  async setXattr(path: string, name: string, value: Uint8Array): Promise<void> {
    this.#attempt('setXattr', path, () => {
      const inode = this.#at(path);
      inode.xattrs = new Map([...(inode.xattrs ?? []), [name, value]]);
    });
  }

  async finish(): Promise<void> {
    for (const [path, modifiedMs] of this.#folderTimes) {
      const folder = this.#attempt('finish', path, () => this.#resolve(path, false));
      if (folder) folder.modifiedMs = modifiedMs;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #bytesOf(path: string, node: Extract<TreeNode, { kind: 'file' }>): Promise<Uint8Array> {
    if (node.extents && node.size > MAX_FILE_BYTES)
      throw new FileSystemError('EFBIG', 'put', `${this.#rootPath}/${path}`);
    return bytesOf(node);
  }

  async #notifyReplace(path: string, node: TreeNode): Promise<void> {
    if (path === '' || !this.#deps.onReplace) return;
    const found = this.#attempt('put', path, () => this.#resolve(parentPath(path), true).entries.get(baseName(path)));
    if (found === undefined || (found.kind === 'directory' && node.kind === 'directory')) return;
    if (node.kind === 'hardLink' && this.#attempt('put', path, () => this.#at(node.target)) === found) return;
    await this.#deps.onReplace(path, found.kind);
  }

  #put(path: string, node: TreeNode, content: Uint8Array): void {
    if (node.kind === 'hardLink') return this.#link(path, node.target);
    const { mode, uid, gid, modifiedMs, xattrs } = node;
    const inode = path === '' ? this.#root : this.#create(path, node, content);
    const isLink = node.kind === 'symlink';
    Object.assign(
      inode,
      { uid, gid, modifiedMs, mode: isLink ? 0o777 : mode },
      xattrs ? { xattrs: new Map(xattrs) } : {},
    );
    if (node.kind !== 'directory') return;
    this.implied.delete(path);
    this.#folderTimes.set(path, modifiedMs);
  }

  #link(path: string, target: string): void {
    const folder = this.#resolve(parentPath(path), true);
    const linked = this.#at(target);
    if (linked.kind === 'directory') throw new Errno('EPERM');
    if (folder.entries.get(baseName(path)) === linked) return;
    folder.entries.delete(baseName(path));
    folder.entries.set(baseName(path), this.#at(target)); // it may have been below the removed entry
  }

  #create(path: string, node: OwnContent, content: Uint8Array): Inode {
    const folder = this.#resolve(parentPath(path), true);
    const found = folder.entries.get(baseName(path));
    if (node.kind === 'directory' && found?.kind === 'directory') return found;
    const inode = this.#deps.tree.create(newInode(node, content), folder.device);
    folder.entries.set(baseName(path), inode);
    return inode;
  }

  #at(path: string): Inode {
    const inode = path === '' ? this.#root : this.#resolve(parentPath(path), false)?.entries.get(baseName(path));
    if (inode === undefined) throw new Errno('ENOENT');
    return inode;
  }

  /** Resolves a path, following the last link too. */
  #target(path: string, links = 0): Inode {
    const inode = this.#at(path);
    if (inode.kind !== 'symlink') return inode;
    if (links > MAX_LINKS) throw new Errno('ELOOP');
    return this.#target(inode.target.startsWith('/') ? inode.target : `${parentPath(path)}/${inode.target}`, links + 1);
  }

  #resolve(path: string, make: true): DirectoryInode;
  #resolve(path: string, make: boolean): DirectoryInode | undefined;
  #resolve(path: string, make: boolean): DirectoryInode | undefined {
    const names: Step[] = namesIn(path).map((name, index, all) => ({ name, path: all.slice(0, index + 1).join('/') }));
    /** The resolved folders, the root first. */
    let folders: DirectoryInode[] = [this.#root];
    let links = 0;
    for (let step = names.shift(); step; step = names.shift()) {
      const { name, path: own } = step;
      const here = folders.at(-1) ?? this.#root;
      const next = name === '..' ? undefined : here.entries.get(name);
      if (name === '..') folders = folders.length > 1 ? folders.slice(0, -1) : folders;
      else if (next?.kind === 'directory') folders.push(next);
      else if (next?.kind === 'symlink') {
        if (++links > MAX_LINKS) throw new Errno('ELOOP');
        if (next.target.startsWith('/')) folders = [this.#root];
        names.unshift(...namesIn(next.target).map((each) => ({ name: each, path: undefined })));
      } else if (!make) return undefined;
      else if (next !== undefined) throw new Errno('ENOTDIR');
      else if (own === undefined)
        throw new Errno('EEXIST'); // a dangling link
      else {
        folders.push(this.#makeFolder(here, name));
        this.implied.add(own);
      }
    }
    return folders.at(-1);
  }

  #makeFolder(parent: DirectoryInode, name: string): DirectoryInode {
    const folder = this.#deps.tree.create({ kind: 'directory', mode: 0o755, entries: new Map() }, parent.device);
    parent.entries.set(name, folder);
    if (folder.kind !== 'directory') throw new Errno('ENOTDIR');
    return folder;
  }

  #throwInjected(path: string): void {
    const code = this.#deps.injectedError(`${this.#rootPath}/${path}`);
    if (code) throw new Errno(code);
  }

  #attempt<T>(operation: string, path: string, work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      throw new FileSystemError(error.code, operation, `${this.#rootPath}/${path}`, { cause: error });
    }
  }
}

function newInode(node: OwnContent, bytes: Uint8Array): NewInode {
  switch (node.kind) {
    case 'file':
      return { kind: 'file', mode: 0, bytes };
    case 'directory':
      return { kind: 'directory', mode: 0, entries: new Map() };
    case 'symlink':
      return { kind: 'symlink', mode: 0o777, target: node.target };
    case 'fifo':
      return { kind: 'fifo', mode: 0 };
    case 'characterDevice':
    case 'blockDevice':
      return { kind: node.kind, mode: 0, special: { major: node.major, minor: node.minor } };
  }
}

async function bytesOf({ size, content, extents }: Extract<TreeNode, { kind: 'file' }>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(chunk.slice());
  const sent = new Uint8Array(Buffer.concat(chunks));
  if (extents === undefined) return sent;
  const whole = new Uint8Array(size);
  let done = 0;
  for (const { offset, length } of extents) {
    whole.set(sent.subarray(done, done + length), offset);
    done += length;
  }
  return whole;
}

function checkPathLength(path: string): void {
  if (fileNameLength(path) > MAX_PATH_BYTES) throw new Errno('ENAMETOOLONG');
  if (namesIn(path).some((name) => fileNameLength(name) > MAX_NAME_BYTES)) throw new Errno('ENAMETOOLONG');
}

function namesIn(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

function parentPath(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
