import { posix } from 'node:path';
import type { Log } from '../../base/log.ts';
import { errorText } from '../../base/error-text.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Random } from '../../host/random.ts';

/**
 * Where folders go that nobody needs: out of sight at once, off the disk a little later, one after the other. What is left
 * when the process ends goes with the next life's sweep.
 */
export class Trash {
  readonly #deps: { readonly fs: FileSystem; readonly random: Random; readonly log: Log };
  readonly #folder: string;
  #emptied: Promise<void> = Promise.resolve();

  constructor(deps: { readonly fs: FileSystem; readonly random: Random; readonly log: Log }, folder: string) {
    this.#deps = deps;
    this.#folder = folder;
  }

  /** The folder must exist, on the file system of the trash. */
  async discard(folder: string): Promise<void> {
    const { fs, random, log } = this.#deps;
    const name = Buffer.from(random.bytes(8)).toString('hex');
    // A start on a full disk could not make the folder of this process.
    const hasFolder = (await fs.stat(this.#folder)) !== undefined;
    const doomed = `${hasFolder ? this.#folder : posix.dirname(this.#folder)}/${name}`;
    await fs.rename(folder, doomed);
    this.#emptied = this.#emptied
      .then(() => fs.removeTree(doomed))
      .catch((error: unknown) => log.warn('a folder cannot be removed', { path: doomed, error: errorText(error) }));
  }

  /** Resolves when all that was discarded so far is off the disk, as far as it goes. */
  emptied(): Promise<void> {
    return this.#emptied;
  }
}
