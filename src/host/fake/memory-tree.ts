import { posix } from 'node:path';
import type { MountEntry } from '../mounts.ts';
import { Errno } from './errno.ts';
import type { DirectoryInode, Inode, NewInode } from './memory-inode.ts';

/** As many links in one path, and the kernel gives up with ELOOP. */
const MAX_LINKS = 40;

/** A tree of inodes that is visible at a path. */
export interface MemoryMount {
  /** Replaced by a remount. */
  entry: MountEntry;
  readonly root: Inode;
  /** The mount that it stands on; none for the one at `/`. */
  readonly parent: MemoryMount | undefined;
}

/** Where a path leads to. */
export interface PathLookup {
  /** Without links and dots. */
  readonly path: string;
  /** What is visible there; `undefined` when only the folder exists. */
  readonly inode: Inode | undefined;
  /** The folder that holds the name; a mount point's is on the mount below. `undefined` for `/`. */
  readonly folder: DirectoryInode | undefined;
  readonly name: string;
  readonly mount: MemoryMount;
}

/** Inodes, the names that lead to them, and what is mounted over them. */
export class MemoryTree {
  readonly #now: () => number;
  readonly #mounts: MemoryMount[] = [];
  #lastInode = 1;
  #lastDevice = 0;

  constructor(now: () => number) {
    this.#now = now;
    const entry = { source: 'memory', target: '/', type: 'memory', readOnly: false };
    this.#mounts.push({ entry, root: this.newRoot(0o755), parent: undefined });
  }

  get mounts(): readonly MemoryMount[] {
    return this.#mounts;
  }

  /** The root folder of a new, empty file system. */
  newRoot(mode: number): Inode {
    return this.create({ kind: 'directory', mode, entries: new Map() }, ++this.#lastDevice);
  }

  create(inode: NewInode, device: number): Inode {
    return { ...inode, inode: this.#lastInode++, device, uid: 0, gid: 0, modifiedMs: this.#now() };
  }

  addMount(entry: MountEntry, root: Inode, parent: MemoryMount): void {
    this.#mounts.push({ entry, root, parent });
  }

  /** Together with what stands on them. */
  removeMount(mount: MemoryMount): void {
    for (const above of this.#mounts.filter(({ parent }) => parent === mount)) this.removeMount(above);
    this.#mounts.splice(this.#mounts.indexOf(mount), 1);
  }

  /** Follows every link but, unless `followLast`, the last. Throws an `Errno` when the folder is not there. */
  locate(path: string, followLast: boolean): PathLookup {
    let place = this.#root();
    let links = 0;
    const names = namesIn(path);
    for (let name = names.shift(); name !== undefined; name = names.shift()) {
      if (name === '..') {
        place = this.locate(posix.dirname(place.path), true);
        continue;
      }
      const next = this.#step(place, name);
      if (next.inode === undefined && names.length > 0) throw new Errno('ENOENT');
      if (next.inode?.kind === 'symlink' && (names.length > 0 || followLast)) {
        if (++links > MAX_LINKS) throw new Errno('ELOOP');
        if (next.inode.target.startsWith('/')) place = this.#root();
        names.unshift(...namesIn(next.inode.target));
        continue;
      }
      place = next;
    }
    return place;
  }

  /** Follows every link. Throws an `Errno` when that leads out of the folder. */
  locateBeneath(root: string, path: string): PathLookup {
    const top = this.locate(root, true).path;
    const place = this.locate(`${top}/${path}`, true);
    if (place.path !== top && !place.path.startsWith(top === '/' ? top : `${top}/`)) throw new Errno('EXDEV');
    return place;
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

  /** What is mounted over a place hides it. */
  #topmost(place: PathLookup): PathLookup {
    const over = this.#mounts.find(({ entry, parent }) => parent === place.mount && entry.target === place.path);
    return over ? this.#topmost({ ...place, inode: over.root, mount: over }) : place;
  }
}

function namesIn(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}
