import { type FolderClaims, FolderTakenError } from '../folder-claims.ts';

/** Claims of programs on one machine in memory, all of which are process 1. */
export class MemoryFolderClaims implements FolderClaims {
  readonly #taken = new Set<string>();

  async claim(folder: string): Promise<AsyncDisposable> {
    if (this.#taken.has(folder)) throw new FolderTakenError(folder, 1);
    this.#taken.add(folder);
    return {
      [Symbol.asyncDispose]: async () => {
        this.#taken.delete(folder);
      },
    };
  }
}
