import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';

/** The files are checked at most this often. */
const CHECK_INTERVAL_MS = 1_000;
/** A younger file may change again without a different timestamp. */
const SETTLED_MS = 2_000;

export interface ReloadingFilesDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * A value parsed from files, which are read again after a change. There is no background work: files are checked when
 * the value is read. While they are invalid (for example, one of two was replaced), the last value is used.
 */
export class ReloadingFiles<T> {
  readonly #paths: readonly string[];
  readonly #parse: (texts: readonly string[]) => T;
  readonly #deps: ReloadingFilesDeps;
  #stamps: unknown;
  #last: { readonly value: T } | undefined;
  #checkedMs = Number.NEGATIVE_INFINITY;
  #reloading: Promise<T> | undefined;

  /** `parse` gets the texts in the order of the paths, and throws for invalid texts. */
  constructor(paths: readonly string[], parse: (texts: readonly string[]) => T, deps: ReloadingFilesDeps) {
    this.#paths = paths;
    this.#parse = parse;
    this.#deps = deps;
  }

  /** The same value until the files change. Rejects only if there was no valid value yet. */
  value(): Promise<T> {
    const isFresh = this.#deps.clock.monotonic() - this.#checkedMs < CHECK_INTERVAL_MS;
    if (this.#last && isFresh) return Promise.resolve(this.#last.value);
    this.#reloading ??= this.#reload().finally(() => {
      this.#reloading = undefined;
    });
    return this.#reloading;
  }

  /** Forces a check at the next read. */
  invalidate(): void {
    this.#checkedMs = Number.NEGATIVE_INFINITY;
  }

  async #reload(): Promise<T> {
    const { fs, clock, log } = this.#deps;
    this.#checkedMs = clock.monotonic();
    try {
      const stamps = await Promise.all(this.#paths.map((path) => fileStamp(path, fs, clock.now())));
      if (this.#last && isDeepStrictEqual(stamps, this.#stamps)) return this.#last.value;
      const value = this.#parse(await Promise.all(this.#paths.map((path) => fs.readText(path))));
      // Taken before reading: later changes are read again.
      this.#stamps = stamps;
      this.#last = { value };
      return value;
    } catch (error) {
      if (!this.#last) throw error;
      log.warn('cannot reload credential files, using the last valid ones', { paths: this.#paths, error });
      return this.#last.value;
    }
  }
}

/** A young file gets a unique stamp, because its timestamp does not identify its content yet. */
async function fileStamp(path: string, fs: FileSystem, nowMs: number): Promise<unknown> {
  const found = await fs.stat(path);
  if (!found) return undefined;
  const { device, inode, size, modifiedMs } = found;
  return [device, inode, size, modifiedMs, ...(nowMs - modifiedMs < SETTLED_MS ? [Symbol(path)] : [])];
}
