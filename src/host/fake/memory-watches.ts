import { ChangeBell } from '../../base/change-bell.ts';
import type { DirectoryInode, Inode } from './memory-inode.ts';

interface Watch {
  readonly folder: DirectoryInode;
  /** Of the one file that is watched; absent for the whole folder. */
  readonly name: string | undefined;
  readonly bell: ChangeBell;
}

/** Who wants to know of changes in which folder. */
export class MemoryWatches {
  readonly #watches = new Set<Watch>();

  add(folder: DirectoryInode, name: string | undefined): { readonly bell: ChangeBell; remove(): void } {
    const watch = { folder, name, bell: new ChangeBell() };
    this.#watches.add(watch);
    return { bell: watch.bell, remove: () => void this.#watches.delete(watch) };
  }

  /** Something about the name in this folder changed. */
  changed(folder: DirectoryInode | undefined, name: string): void {
    for (const watch of this.#watches) {
      if (watch.folder === folder && (watch.name === undefined || watch.name === name)) watch.bell.ring();
    }
  }

  /** The folder itself was changed, moved or removed. */
  changedItself(inode: Inode): void {
    for (const watch of this.#watches) if (watch.folder === inode) watch.bell.ring();
  }
}
