import { ChangeSignal } from '../../base/change-signal.ts';
import type { DirectoryInode, Inode } from './memory-inode.ts';

interface Watch {
  readonly folder: DirectoryInode;
  /** The watched file; `undefined` for the whole folder. */
  readonly name: string | undefined;
  readonly changes: ChangeSignal;
  /** Names that were removed or moved away since the last event. */
  readonly removed: Set<string>;
}

/** The watches of an in-memory filesystem. */
export class MemoryWatches {
  readonly #watches = new Set<Watch>();

  /** Yields the names removed since the last event; `checkFolder` throws when the folder does not exist any more. */
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
      this.#watches.delete(watch); // the consumer may never call `next` again
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

  /** The name was removed from the folder. */
  removed(folder: DirectoryInode, name: string): void {
    for (const watch of this.#watches) {
      if (watch.folder === folder && (watch.name === undefined || watch.name === name)) watch.removed.add(name);
    }
  }

  /** The name in the folder was created, changed or removed. */
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

/** The files of a removed folder were removed first: yields these before the error. */
function* yieldBeforeError(removed: ReadonlySet<string>, checkFolder: () => void): Generator<ReadonlySet<string>> {
  try {
    checkFolder();
  } catch (error) {
    if (removed.size > 0) yield removed;
    throw error;
  }
}
