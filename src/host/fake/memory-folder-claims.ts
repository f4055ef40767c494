import { type FolderClaims, FolderTakenError, type FolderUse } from '../folder-claims.ts';

/** Locks of the programs on an in-memory machine, all with pid 1. */
export class MemoryFolderClaims implements FolderClaims {
  readonly #taken = new Map<string, FolderUse>();

  async claim(folder: string, use: FolderUse): Promise<AsyncDisposable> {
    const other = this.#taken.get(folder);
    if (other !== undefined) throw new FolderTakenError(folder, { pid: 1, use: other });
    this.#taken.set(folder, use);
    return {
      [Symbol.asyncDispose]: async () => {
        this.#taken.delete(folder);
      },
    };
  }
}
