import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';

/** However often the value is asked for, the files are looked at no more often than this. */
const LOOK_MS = 1_000;
/** A file that is no older may change once more without looking any different. */
const YOUNG_MS = 2_000;

export interface ChangingFilesDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * What some files say, read again when they have changed. Nothing runs in between: they are looked at when the value is
 * asked for. While they say nothing that makes sense (one of two has been replaced), what they said last holds.
 */
export class ChangingFiles<T> {
  readonly #paths: readonly string[];
  readonly #parse: (texts: readonly string[]) => T;
  readonly #deps: ChangingFilesDeps;
  #stamps: unknown;
  #known: { readonly value: T } | undefined;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #looking: Promise<T> | undefined;

  /** `parse` gets the texts in the order of the paths, and throws for those that make no sense. */
  constructor(paths: readonly string[], parse: (texts: readonly string[]) => T, deps: ChangingFilesDeps) {
    this.#paths = paths;
    this.#parse = parse;
    this.#deps = deps;
  }

  /** The same value as long as nothing has changed. Rejects only when there was none yet. */
  value(): Promise<T> {
    const isFresh = this.#deps.clock.monotonic() - this.#lookedMs < LOOK_MS;
    if (this.#known && isFresh) return Promise.resolve(this.#known.value);
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** Somebody has reason to think that they have changed. */
  doubt(): void {
    this.#lookedMs = Number.NEGATIVE_INFINITY;
  }

  async #look(): Promise<T> {
    const { fs, clock, log } = this.#deps;
    this.#lookedMs = clock.monotonic();
    try {
      const stamps = await Promise.all(this.#paths.map((path) => stampOf(path, fs, clock.now())));
      if (this.#known && isDeepStrictEqual(stamps, this.#stamps)) return this.#known.value;
      const value = this.#parse(await Promise.all(this.#paths.map((path) => fs.readText(path))));
      // Taken before they were read: what changed meanwhile is read again.
      this.#stamps = stamps;
      this.#known = { value };
      return value;
    } catch (error) {
      if (!this.#known) throw error;
      log.warn('cannot read credentials again, those known last are used', { paths: this.#paths, error });
      return this.#known.value;
    }
  }
}

/** One of its own for each time that a file is looked at which is too young to be known by it. */
async function stampOf(path: string, fs: FileSystem, nowMs: number): Promise<unknown> {
  const found = await fs.stat(path);
  if (!found) return undefined;
  const { device, inode, size, modifiedMs } = found;
  return [device, inode, size, modifiedMs, ...(nowMs - modifiedMs < YOUNG_MS ? [Symbol(path)] : [])];
}
