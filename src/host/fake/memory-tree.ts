import { posix } from 'node:path';
import type { MountEntry } from '../mounts.ts';
import { Errno } from './errno.ts';
import type { DirectoryInode, Inode, NewInode } from './memory-inode.ts';

/** More links in one path fail with ELOOP, as in the kernel. */
const MAX_LINKS = 40;

/** A tree of inodes that is visible at a path. */
export interface MemoryMount {
  /** Replaced by a remount. */
  entry: MountEntry;
  readonly root: Inode;
  /** The mount that has the mount point; `undefined` for `/`. */
  readonly parent: MemoryMount | undefined;
}

/** The fields of a mount that do not follow from its tree and its parent. */
export type NewMountEntry = Omit<MountEntry, 'device' | 'root' | 'propagation'>;

/** The result of resolving a path. */
export interface PathLookup {
  /** The canonical path. */
  readonly path: string;
  /** `undefined` when only the parent folder exists. */
  readonly inode: Inode | undefined;
  /** The parent folder; for a mount point, that of the mount below. `undefined` for `/`. */
  readonly folder: DirectoryInode | undefined;
  readonly name: string;
  readonly mount: MemoryMount;
}

/** Inodes, their names, and the mounts over them. */
export class MemoryTree {
  readonly #now: () => number;
  readonly #mounts: MemoryMount[] = [];
  #lastInode = 1;
  #lastDevice = 0;

  constructor(now: () => number) {
    this.#now = now;
    const root = this.newRoot(0o755);
    const entry = { source: 'memory', target: '/', type: 'memory', readOnly: false } as const;
    this.#mounts.push({ entry: { ...entry, ...whole(root), propagation: 'private' }, root, parent: undefined });
  }

  get mounts(): readonly MemoryMount[] {
    return this.#mounts;
  }

  /** The root folder of a new, empty filesystem. */
  newRoot(mode: number): Inode {
    return this.create({ kind: 'directory', mode, entries: new Map() }, ++this.#lastDevice);
  }

  create(inode: NewInode, device: number): Inode {
    return { ...inode, inode: this.#lastInode++, device, uid: 0, gid: 0, modifiedMs: this.#now() };
  }

  /** A mount on a shared one is shared, and so is a bind mount of a shared one. `from`: the source of a bind mount. */
  addMount(entry: NewMountEntry, root: Inode, parent: MemoryMount, from?: PathLookup): void {
    const origin = from && { device: from.mount.entry.device, root: pathInFileSystem(from) };
    const own = from?.mount.entry.propagation ?? 'private';
    const propagation = parent.entry.propagation === 'shared' ? 'shared' : own;
    this.#mounts.push({ entry: { ...entry, ...(origin ?? whole(root)), propagation }, root, parent });
  }

  /** Also removes the mounts on top of it. */
  removeMount(mount: MemoryMount): void {
    for (const above of this.#mounts.filter(({ parent }) => parent === mount)) this.removeMount(above);
    this.#mounts.splice(this.#mounts.indexOf(mount), 1);
  }

  /** Follows links, the last one only with `followLast`. Throws an `Errno` when the parent folder does not exist. */
  locate(path: string, followLast: boolean): PathLookup {
    let located = this.#root();
    let links = 0;
    const names = namesIn(path);
    for (let name = names.shift(); name !== undefined; name = names.shift()) {
      if (name === '..') {
        located = this.locate(posix.dirname(located.path), true);
        continue;
      }
      const next = this.#step(located, name);
      if (next.inode === undefined && names.length > 0) throw new Errno('ENOENT');
      if (next.inode?.kind === 'symlink' && (names.length > 0 || followLast)) {
        if (++links > MAX_LINKS) throw new Errno('ELOOP');
        if (next.inode.target.startsWith('/')) located = this.#root();
        names.unshift(...namesIn(next.inode.target));
        continue;
      }
      located = next;
    }
    return located;
  }

  /** Follows links. Throws EXDEV when a link leads out of the folder. */
  locateBeneath(root: string, path: string): PathLookup {
    const top = this.locate(root, true).path;
    const located = this.locate(`${top}/${path}`, true);
    if (located.path !== top && !located.path.startsWith(top === '/' ? top : `${top}/`)) throw new Errno('EXDEV');
    return located;
  }

  #root(): PathLookup {
    const [mount] = this.#mounts;
    if (mount === undefined) throw new Errno('ENOENT');
    return this.#topmost({ path: '/', inode: mount.root, folder: undefined, name: '', mount });
  }

  #step({ path, inode, mount }: PathLookup, name: string): PathLookup {
    if (inode?.kind !== 'directory') throw new Errno('ENOTDIR');
    return this.#topmost({
      path: posix.join(path, name),
      inode: inode.entries.get(name),
      folder: inode,
      name,
      mount,
    });
  }

  /** A mount hides what is below it. */
  #topmost(located: PathLookup): PathLookup {
    const over = this.#mounts.find(({ entry, parent }) => parent === located.mount && entry.target === located.path);
    return over ? this.#topmost({ ...located, inode: over.root, mount: over }) : located;
  }
}

function whole({ device }: Inode): Pick<MountEntry, 'device' | 'root'> {
  return { device: `0:${device}`, root: '/' };
}

function pathInFileSystem({ path, mount: { entry } }: PathLookup): string {
  return posix.join(entry.root, posix.relative(entry.target, path));
}

function namesIn(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}
