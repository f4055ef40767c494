import { byCodePoint } from '../../base/code-point-order.ts';
import type { DirectoryEntry } from '../file-system.ts';
import { Errno } from './errno.ts';
import type { DirectoryInode, FileInode, Inode, NewInode } from './memory-inode.ts';
import type { MemoryTree, PathLookup } from './memory-tree.ts';
import type { MemoryWatches } from './memory-watches.ts';

/** A path that exists. */
type Found = PathLookup & { readonly inode: Inode };

/** The system calls of the in-memory filesystem. Synchronous; they throw an `Errno`. */
export class MemoryFiles {
  readonly #tree: MemoryTree;
  readonly #watches: MemoryWatches;
  readonly #now: () => number;

  constructor(tree: MemoryTree, watches: MemoryWatches, now: () => number) {
    this.#tree = tree;
    this.#watches = watches;
    this.#now = now;
  }

  file(path: string): FileInode {
    const { inode } = this.find(path, true);
    if (inode.kind === 'directory') throw new Errno('EISDIR');
    if (inode.kind !== 'file') throw new Errno('ENXIO');
    return inode;
  }

  find(path: string, followLast: boolean): Found {
    const located = this.#tree.locate(path, followLast);
    if (located.inode === undefined) throw new Errno('ENOENT');
    return { ...located, inode: located.inode };
  }

  /** Creates the file when it does not exist. */
  write(path: string, change: (old: Uint8Array) => Uint8Array, mode?: number): void {
    const located = this.#tree.locate(path, true);
    checkWritable(located);
    if (located.inode === undefined) {
      this.#put(located, { kind: 'file', mode: mode ?? 0o644, bytes: change(new Uint8Array()) });
      return;
    }
    const file = this.file(path);
    file.bytes = change(file.bytes);
    file.modifiedMs = this.#now();
    if (mode !== undefined) file.mode = mode;
    this.#notify(located);
  }

  /** Relocateds the path with a new inode. */
  replaceFile(path: string, bytes: Uint8Array, mode: number): void {
    const located = this.#tree.locate(path, false);
    checkWritable(located);
    if (located.inode?.kind === 'directory') throw new Errno('EISDIR');
    checkNotMountPoint(located);
    this.#put(located, { kind: 'file', mode, bytes });
  }

  /** The path must not exist. */
  create(path: string, inode: NewInode): void {
    const located = this.#tree.locate(path, false);
    if (located.inode !== undefined) throw new Errno('EEXIST');
    checkWritable(located);
    this.#put(located, inode);
  }

  makeDirectory(path: string, mode: number): void {
    const names = path.split('/').filter(Boolean);
    for (const [index, name] of names.entries()) {
      const here = `/${[...names.slice(0, index), name].join('/')}`;
      const { inode } = this.#tree.locate(here, true);
      if (inode?.kind === 'directory') continue;
      const isLast = index === names.length - 1;
      if (inode !== undefined) throw new Errno(isLast ? 'EEXIST' : 'ENOTDIR');
      this.create(here, { kind: 'directory', mode: isLast ? mode : 0o755, entries: new Map() });
    }
  }

  makeDirectoryBeneath(root: string, path: string, mode: number): void {
    const names = path.split('/').filter(Boolean);
    for (const [index] of names.entries()) {
      const here = names.slice(0, index + 1).join('/');
      const { inode } = this.#tree.locateBeneath(root, here);
      const isDirectory = inode?.kind === 'directory';
      if (!isDirectory && this.#tree.locate(`${root}/${here}`, false).inode) throw new Errno('ENOTDIR');
      if (!isDirectory) this.create(`${root}/${here}`, { kind: 'directory', mode, entries: new Map() });
    }
  }

  list(path: string): DirectoryEntry[] {
    const { inode, path: folder } = this.find(path, true);
    if (inode.kind !== 'directory') throw new Errno('ENOTDIR');
    const names = [...inode.entries.keys()].sort(byCodePoint);
    return names.map((name) => ({ name, kind: this.find(`${folder}/${name}`, false).inode.kind }));
  }

  change(path: string, followLast: boolean, values: Partial<Pick<Inode, 'mode' | 'uid' | 'gid'>>): void {
    const located = this.find(path, followLast);
    checkWritable(located);
    Object.assign(located.inode, values);
    this.#notify(located);
  }

  rename(from: string, to: string): void {
    const source = this.find(from, false);
    const target = this.#tree.locate(to, false);
    for (const located of [source, target]) {
      checkWritable(located);
      checkNotMountPoint(located);
    }
    if (source.mount !== target.mount) throw new Errno('EXDEV');
    if (source.inode === target.inode) return;
    if (source.inode.kind === 'directory') {
      if (`${target.path}/`.startsWith(`${source.path}/`)) throw new Errno('EINVAL');
      if (target.inode !== undefined) checkEmptyDirectory(target.inode);
    } else if (target.inode?.kind === 'directory') throw new Errno('EISDIR');

    this.#take(source);
    if (target.inode) this.#watches.changedItself(target.inode);
    folderOf(target).entries.set(target.name, source.inode);
    this.#notify(target);
  }

  /** One file, link or empty folder. */
  remove(path: string): void {
    const located = this.find(path, false);
    checkWritable(located);
    checkNotMountPoint(located);
    if (located.inode.kind === 'directory') checkEmptyDirectory(located.inode);
    this.#take(located);
  }

  /** Returns a mount point below the path, if any, and removes nothing then. */
  removeTree(path: string): { readonly mountPoint: string } | undefined {
    const located = this.find(path, false);
    const inside = this.#tree.mounts.find(({ entry }) => `${entry.target}/`.startsWith(`${located.path}/`));
    if (inside) return { mountPoint: inside.entry.target };
    checkWritable(located);
    this.#removeBelow(located);
    return undefined;
  }

  /** Not recursive: a tree may be deeper than the stack. Folders are removed after their content. */
  #removeBelow(top: Found): void {
    const waiting = [{ located: top, isEmptied: false }];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { inode, path } = next.located;
      if (next.isEmptied || inode.kind !== 'directory') {
        this.#take(next.located);
        continue;
      }
      waiting.push({ ...next, isEmptied: true });
      for (const [name, child] of inode.entries) {
        const located = { path: `${path}/${name}`, name, folder: inode, inode: child, mount: top.mount };
        waiting.push({ located, isEmptied: false });
      }
    }
  }

  #put(located: PathLookup, inode: NewInode): void {
    const folder = folderOf(located);
    folder.entries.set(located.name, this.#tree.create(inode, folder.device));
    folder.modifiedMs = this.#now();
    this.#notify(located);
  }

  #take(located: Found): void {
    const folder = folderOf(located);
    folder.entries.delete(located.name);
    folder.modifiedMs = this.#now();
    this.#watches.removed(folder, located.name);
    this.#notify(located);
  }

  #notify({ folder, name, inode }: PathLookup): void {
    this.#watches.changed(folder, name);
    if (inode) this.#watches.changedItself(inode);
  }
}

function folderOf({ folder }: PathLookup): DirectoryInode {
  if (folder === undefined) throw new Errno('EBUSY'); // the root
  return folder;
}

function checkWritable({ mount }: PathLookup): void {
  if (mount.entry.readOnly) throw new Errno('EROFS');
}

function checkNotMountPoint({ mount, path }: PathLookup): void {
  if (mount.entry.target === path) throw new Errno('EBUSY');
}

function checkEmptyDirectory(inode: Inode): void {
  if (inode.kind !== 'directory') throw new Errno('ENOTDIR');
  if (inode.entries.size > 0) throw new Errno('ENOTEMPTY');
}
