import {
  type MountEntry,
  MountError,
  type MountFlag,
  type MountIdMap,
  type MountRequest,
  type Mounts,
  type OverlayRequest,
  type Propagation,
} from '../mounts.ts';
import { Errno } from './errno.ts';
import { ErrorInjector } from './error-injector.ts';
import type { MemoryFileSystem } from './memory-file-system.ts';
import type { Inode } from './memory-inode.ts';
import { mergedTree } from './memory-overlay.ts';
import type { MemoryMount, MemoryTree } from './memory-tree.ts';

const PROPAGATION: Partial<Record<MountFlag, Propagation>> = {
  private: 'private',
  rprivate: 'private',
  slave: 'slave',
  rslave: 'slave',
  shared: 'shared',
  rshared: 'shared',
};
const RECURSIVE: ReadonlySet<MountFlag> = new Set(['rprivate', 'rslave', 'rshared']);

/**
 * Mounts of an in-memory filesystem: bind mounts show the tree of their source, other types a new empty one. Propagation is
 * listed and has no effect, as there is one mount namespace; an `rbind` does not include the mounts below. Writes to an
 * overlay mount stay in the mount.
 */
export class MemoryMounts implements Mounts {
  /** `errors.failNext('mount', 'EPERM', target?)`. */
  readonly errors = new ErrorInjector<'mount' | 'unmount'>();
  readonly #fs: MemoryFileSystem;
  readonly #tree: MemoryTree;

  constructor(fs: MemoryFileSystem) {
    this.#fs = fs;
    this.#tree = fs.tree;
  }

  async mount(request: MountRequest): Promise<void> {
    this.#do('mount', request.target, () => this.#mount(request));
  }

  async bindBeneath(root: string, path: string, target: string): Promise<void> {
    const from = this.#do('mount', target, () => this.#tree.locateBeneath(root, path));
    if (from.inode === undefined) throw new MountError('ENOENT', 'mount', target);
    if (this.#mountAt(target)?.root === from.inode) return;
    await this.unmount(target);
    const kind = from.inode.kind === 'directory' ? 'directory' : 'file';
    if ((await this.#fs.lstat(target))?.kind !== kind) {
      await this.#fs.remove(target);
      if (kind === 'directory') await this.#fs.makeDirectory(target, 0o750);
      else await this.#fs.writeFile(target, '', { mode: 0o640 });
    }
    this.#do('mount', target, () => this.#mount({ source: from.path, target, flags: ['bind'] }));
  }

  async mountOverlay({ target, lower, upper, idMap }: OverlayRequest): Promise<void> {
    this.#do('mount', target, () => {
      const located = this.#tree.locate(target, true);
      if (located.inode?.kind !== 'directory') throw new Errno(located.inode ? 'ENOTDIR' : 'ENOENT');
      const folder = (path: string) => {
        const { inode } = this.#tree.locate(path, true);
        if (inode?.kind !== 'directory') throw new Errno(inode ? 'ENOTDIR' : 'ENOENT');
        return inode;
      };
      if (upper) folder(upper.work);
      const root = mergedTree(this.#tree, lower.map(folder), upper && folder(upper.folder), idMap);
      const entry = { source: 'overlay', target: located.path, type: 'overlay', readOnly: upper === undefined };
      this.#tree.addMount(entry, root, located.mount);
    });
  }

  /** Shows a copy: writes stay in the mount. */
  async bindMapped(source: string, target: string, idMap: MountIdMap): Promise<void> {
    const from = this.#do('mount', target, () => this.#tree.locate(source, true));
    if (from.inode === undefined) throw new MountError('ENOENT', 'mount', target);
    const root = mergedTree(this.#tree, [from.inode], undefined, idMap);
    if ((await this.#fs.lstat(target)) === undefined) {
      if (root.kind === 'directory') await this.#fs.makeDirectory(target, 0o750);
      else await this.#fs.writeFile(target, '', { mode: 0o640 });
    }
    const below = this.#tree.mounts.filter(({ entry }) => entry.target.startsWith(`${from.path}/`));
    const attach = (show: Inode, at: string) => {
      const located = this.#tree.locate(at, true);
      const entry = { source: from.path, target: located.path, type: 'bind', readOnly: false };
      this.#tree.addMount(entry, show, located.mount);
    };
    this.#do('mount', target, () => {
      attach(root, target);
      for (const { entry, root: shown } of below) {
        attach(mergedTree(this.#tree, [shown], undefined, idMap), `${target}${entry.target.slice(from.path.length)}`);
      }
    });
  }

  async unmount(target: string, { lazy = false }: { readonly lazy?: boolean } = {}): Promise<void> {
    this.#do('unmount', target, () => {
      const mount = this.#mountAt(target);
      if (mount === undefined) return;
      const isBusy = this.#tree.mounts.some(({ parent }) => parent === mount);
      if (isBusy && !lazy) throw new Errno('EBUSY');
      this.#tree.removeMount(mount);
    });
  }

  async list(): Promise<readonly MountEntry[]> {
    return this.#tree.mounts.map(({ entry }) => entry);
  }

  #mount({ source, target, type, flags = [], data }: MountRequest): void {
    const located = this.#tree.locate(target, true);
    if (located.inode === undefined) throw new Errno('ENOENT');
    const readOnly = flags.includes('readOnly');
    if (flags.includes('remount')) {
      const mount = this.#mountAt(target);
      if (mount === undefined) throw new Errno('EINVAL');
      mount.entry = { ...mount.entry, readOnly };
    } else if (flags.includes('bind') || flags.includes('rbind')) {
      const from = this.#tree.locate(source, true);
      if (from.inode === undefined) throw new Errno('ENOENT');
      if ((from.inode.kind === 'directory') !== (located.inode.kind === 'directory')) throw new Errno('ENOTDIR');
      const { source: device, type: itsType, readOnly: isReadOnly } = from.mount.entry;
      const entry = { source: device, target: located.path, type: itsType, readOnly: readOnly || isReadOnly };
      this.#tree.addMount(entry, from.inode, located.mount, from);
    } else if (type !== undefined) {
      if (located.inode.kind !== 'directory') throw new Errno('ENOTDIR');
      this.#tree.addMount(
        { source, target: located.path, type, readOnly },
        this.#tree.newRoot(modeIn(data)),
        located.mount,
      );
    } else if (!flags.some((flag) => flag in PROPAGATION) || this.#mountAt(target) === undefined) {
      throw new Errno('EINVAL');
    }
    for (const flag of flags) this.#setPropagation(target, flag);
  }

  #setPropagation(target: string, flag: MountFlag): void {
    const wanted = PROPAGATION[flag];
    const mount = this.#mountAt(target);
    if (wanted === undefined || mount === undefined) return;
    const set = (each: MemoryMount): void => {
      // A private mount has no master to become a slave of.
      const isUnchanged = wanted === 'slave' && each.entry.propagation === 'private';
      if (!isUnchanged) each.entry = { ...each.entry, propagation: wanted };
      if (RECURSIVE.has(flag)) for (const above of this.#tree.mounts) if (above.parent === each) set(above);
    };
    set(mount);
  }

  /** The topmost mount, or `undefined` when the path is not a mount point. */
  #mountAt(target: string): MemoryMount | undefined {
    try {
      const { mount, path } = this.#tree.locate(target, false);
      return mount.entry.target === path ? mount : undefined;
    } catch (error) {
      if (error instanceof Errno) return undefined;
      throw error;
    }
  }

  #do<T>(operation: 'mount' | 'unmount', target: string, work: () => T): T {
    const code = this.errors.take(operation, target);
    if (code) throw new MountError(code, operation, target);
    try {
      return work();
    } catch (error) {
      throw error instanceof Errno ? new MountError(error.code, operation, target, { cause: error }) : error;
    }
  }
}

/** The `mode=0700` option of tmpfs. */
function modeIn(data = ''): number {
  const mode = /(?:^|,)mode=([0-7]+)/.exec(data)?.[1];
  return mode === undefined ? 0o1777 : Number.parseInt(mode, 8);
}
