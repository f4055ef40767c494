import { LruMap } from './lru-map.ts';

interface MonotonicClock {
  /** Milliseconds since an arbitrary moment. */
  monotonic(): number;
}

interface Entry<T> {
  readonly answer: Promise<T>;
  /** Monotonic milliseconds; infinite while the value is being fetched. */
  endsMs: number;
}

/**
 * Caches values for a limited time. Concurrent requests for one key share one fetch; an error reaches those that waited
 * for it and is not cached.
 */
export class TtlCache<T> {
  readonly #entries: LruMap<string, Entry<T>>;
  readonly #clock: MonotonicClock;
  readonly #ttlMs: (answer: T) => number;

  constructor(size: number, clock: MonotonicClock, ttlMs: (answer: T) => number) {
    this.#entries = new LruMap(size);
    this.#clock = clock;
    this.#ttlMs = ttlMs;
  }

  get(key: string, ask: () => Promise<T>): Promise<T> {
    const known = this.#entries.get(key);
    if (known && this.#clock.monotonic() < known.endsMs) return known.answer;
    const entry: Entry<T> = { answer: ask(), endsMs: Number.POSITIVE_INFINITY };
    this.#entries.set(key, entry);
    entry.answer.then(
      (answer) => {
        entry.endsMs = this.#clock.monotonic() + this.#ttlMs(answer);
      },
      () => {
        entry.endsMs = Number.NEGATIVE_INFINITY;
      },
    );
    return entry.answer;
  }
}
