import { LruMap } from './lru-map.ts';

const WINDOW_MS = 60_000;
const PER_KEY = 5;
/** For all keys together. */
const PER_WINDOW = 60;
const MAX_KEYS = 256;

interface Window {
  readonly sinceMs: number;
  readonly admitted: number;
}

/**
 * Bounds a log that a repeated error would fill: five entries a minute for one key, sixty for all keys. The number of entries
 * that were left out is returned with the next one.
 */
export class FloodGuard {
  readonly #clock: { monotonic(): number };
  readonly #keys = new LruMap<string, Window>(MAX_KEYS);
  #all: Window = { sinceMs: Number.NEGATIVE_INFINITY, admitted: 0 };
  #suppressed = 0;

  constructor(clock: { monotonic(): number }) {
    this.#clock = clock;
  }

  /** `undefined`: leave the entry out. */
  admit(key: string): { readonly suppressed: number } | undefined {
    const nowMs = this.#clock.monotonic();
    const own = current(this.#keys.get(key), nowMs);
    this.#all = current(this.#all, nowMs);
    if (own.admitted >= PER_KEY || this.#all.admitted >= PER_WINDOW) {
      this.#suppressed++;
      return undefined;
    }
    this.#keys.set(key, { ...own, admitted: own.admitted + 1 });
    this.#all = { ...this.#all, admitted: this.#all.admitted + 1 };
    const suppressed = this.#suppressed;
    this.#suppressed = 0;
    return { suppressed };
  }
}

function current(window: Window | undefined, nowMs: number): Window {
  return window && nowMs - window.sinceMs < WINDOW_MS ? window : { sinceMs: nowMs, admitted: 0 };
}
