import { posix } from 'node:path';
import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Random } from '../../host/random.ts';

/**
 * Receives directories that are no longer needed: renamed at once, removed later, one at a time. Start-up removes what
 * is left when the process ends.
 */
export class Trash {
  readonly #deps: { readonly fs: FileSystem; readonly random: Random; readonly log: Log };
  readonly #folder: string;
  #emptied: Promise<void> = Promise.resolve();

  constructor(deps: { readonly fs: FileSystem; readonly random: Random; readonly log: Log }, folder: string) {
    this.#deps = deps;
    this.#folder = folder;
  }

  /** The directory must exist, on the file system of the trash. */
  async discard(folder: string): Promise<void> {
    const { fs, random, log } = this.#deps;
    const name = Buffer.from(random.bytes(8)).toString('hex');
    // The directory of this process is missing if the disk was full at start-up.
    const hasFolder = (await fs.stat(this.#folder)) !== undefined;
    const doomed = `${hasFolder ? this.#folder : posix.dirname(this.#folder)}/${name}`;
    await fs.rename(folder, doomed);
    this.#emptied = this.#emptied
      .then(() => fs.removeTree(doomed))
      .catch((error: unknown) => log.warn('cannot remove directory', { path: doomed, error: errorText(error) }));
  }

  /** Resolves when everything discarded so far is removed or has failed. */
  waitEmpty(): Promise<void> {
    return this.#emptied;
  }
}
