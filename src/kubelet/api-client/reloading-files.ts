import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';

/** However often the value is asked for, the files are looked at no more often than this. */
const CHECK_INTERVAL_MS = 1_000;
/** A file that is no older may change once more without looking any different. */
const SETTLED_MS = 2_000;

export interface ReloadingFilesDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * What some files say, read again when they have changed. Nothing runs in between: they are looked at when the value is
 * asked for. While they say nothing that makes sense (one of two has been replaced), what they said last holds.
 */
export class ReloadingFiles<T> {
  readonly #paths: readonly string[];
  readonly #parse: (texts: readonly string[]) => T;
  readonly #deps: ReloadingFilesDeps;
  #stamps: unknown;
  #last: { readonly value: T } | undefined;
  #checkedMs = Number.NEGATIVE_INFINITY;
  #reloading: Promise<T> | undefined;

  /** `parse` gets the texts in the order of the paths, and throws for those that make no sense. */
  constructor(paths: readonly string[], parse: (texts: readonly string[]) => T, deps: ReloadingFilesDeps) {
    this.#paths = paths;
    this.#parse = parse;
    this.#deps = deps;
  }

  /** The same value as long as nothing has changed. Rejects only when there was none yet. */
  value(): Promise<T> {
    const isFresh = this.#deps.clock.monotonic() - this.#checkedMs < CHECK_INTERVAL_MS;
    if (this.#last && isFresh) return Promise.resolve(this.#last.value);
    this.#reloading ??= this.#reload().finally(() => {
      this.#reloading = undefined;
    });
    return this.#reloading;
  }

  /** Somebody has reason to think that they have changed. */
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
      // Taken before they were read: what changed meanwhile is read again.
      this.#stamps = stamps;
      this.#last = { value };
      return value;
    } catch (error) {
      if (!this.#last) throw error;
      log.warn('cannot read credentials again, those known last are used', { paths: this.#paths, error });
      return this.#last.value;
    }
  }
}

/** One of its own for each time that a file is looked at which is too young to be known by it. */
async function fileStamp(path: string, fs: FileSystem, nowMs: number): Promise<unknown> {
  const found = await fs.stat(path);
  if (!found) return undefined;
  const { device, inode, size, modifiedMs } = found;
  return [device, inode, size, modifiedMs, ...(nowMs - modifiedMs < SETTLED_MS ? [Symbol(path)] : [])];
}
