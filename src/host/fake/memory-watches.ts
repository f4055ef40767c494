import { ChangeSignal } from '../../base/change-signal.ts';
import type { DirectoryInode, Inode } from './memory-inode.ts';

interface Watch {
  readonly folder: DirectoryInode;
  /** Of the one file that is watched; absent for the whole folder. */
  readonly name: string | undefined;
  readonly changes: ChangeSignal;
  /** Names that were removed or moved away since the last look. */
  readonly removed: Set<string>;
}

/** Who wants to know of changes in which folder. */
export class MemoryWatches {
  readonly #watches = new Set<Watch>();

  /** Yields what was removed since the last look; `checkFolder` throws once the folder is not there any more. */
  async *follow(
    folder: DirectoryInode,
    name: string | undefined,
    checkFolder: () => void,
    signal: AbortSignal,
  ): AsyncGenerator<ReadonlySet<string>, void, void> {
    const watch: Watch = { folder, name, changes: new ChangeSignal(), removed: new Set() };
    const { changes: bell, removed } = watch;
    this.#watches.add(watch);
    const onAbort = (): void => {
      bell.close();
      this.#watches.delete(watch); // not left to the reader, who may never ask again
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      bell.notify();
      while (await bell.next()) {
        const since = new Set(removed);
        removed.clear();
        yield* yieldBeforeError(since, checkFolder);
        yield since;
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#watches.delete(watch);
    }
  }

  /** The name is not in this folder any more. */
  removed(folder: DirectoryInode, name: string): void {
    for (const watch of this.#watches) {
      if (watch.folder === folder && (watch.name === undefined || watch.name === name)) watch.removed.add(name);
    }
  }

  /** Something about the name in this folder changed. */
  changed(folder: DirectoryInode | undefined, name: string): void {
    for (const watch of this.#watches) {
      if (watch.folder === folder && (watch.name === undefined || watch.name === name)) watch.changes.notify();
    }
  }

  /** The folder itself was changed, moved or removed. */
  changedItself(inode: Inode): void {
    for (const watch of this.#watches) if (watch.folder === inode) watch.changes.notify();
  }
}

/** A folder that is gone has lost its files first. */
function* yieldBeforeError(removed: ReadonlySet<string>, checkFolder: () => void): Generator<ReadonlySet<string>> {
  try {
    checkFolder();
  } catch (error) {
    if (removed.size > 0) yield removed;
    throw error;
  }
}
