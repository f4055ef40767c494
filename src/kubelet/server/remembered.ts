import type { Clock } from '../../host/clock.ts';
import { RecentMap } from '../events/recent-map.ts';

interface Entry<T> {
  readonly answer: Promise<T>;
  /** Monotonic milliseconds; open while the answer is not there. */
  endsMs: number;
}

/**
 * Answers that hold for a while. Who asks while an answer is on its way gets the same; a failure is nobody's but of those
 * who waited for it.
 */
export class Remembered<T> {
  readonly #entries: RecentMap<string, Entry<T>>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #ttlMs: (answer: T) => number;

  constructor(size: number, clock: Pick<Clock, 'monotonic'>, ttlMs: (answer: T) => number) {
    this.#entries = new RecentMap(size);
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
