import type { Clock } from '../../../host/clock.ts';

/**
 * Below this, a transfer is given up. A line of 40 kbit/s that is shared by three layers is faster. containerd has no such
 * limit: any progress within five minutes keeps its transfer alive.
 */
export const MINIMUM_BYTES_PER_SECOND = 1024;

/** A new transfer may be below the rate for this long. */
const INITIAL_CREDIT_MS = 5 * 60_000;
/** Faster data is credited up to this: a transfer may stop for five minutes, and once more after it has recovered. */
const MAX_CREDIT_MS = 10 * 60_000;

/**
 * Aborts `signal` when a host sends less than `MINIMUM_BYTES_PER_SECOND`. Each received byte buys time; the time in which
 * the consumer holds the data is free. Uses one timer, however often data arrives.
 */
export class MinimumRate implements Disposable {
  readonly #clock: Clock;
  readonly #expired = new AbortController();
  readonly #done = new AbortController();
  #creditMs = INITIAL_CREDIT_MS;
  #elapsedMs = 0;
  #receivedBytes = 0;
  /** Absent while paused. */
  #since: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
    this.#watch().catch(() => {}); // rejects only when disposed
  }

  get signal(): AbortSignal {
    return this.#expired.signal;
  }

  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  /** Without the time in which it was paused. */
  get elapsedMs(): number {
    this.#settle();
    return this.#elapsedMs;
  }

  received(bytes: number): void {
    this.#settle();
    this.#receivedBytes += bytes;
    this.#creditMs = Math.min(MAX_CREDIT_MS, this.#creditMs + (bytes * 1000) / MINIMUM_BYTES_PER_SECOND);
  }

  pause(): void {
    this.#settle();
    this.#since = undefined;
  }

  resume(): void {
    this.#since ??= this.#clock.monotonic();
  }

  [Symbol.dispose](): void {
    this.#done.abort();
  }

  #settle(): void {
    if (this.#since === undefined) return;
    const now = this.#clock.monotonic();
    this.#elapsedMs += now - this.#since;
    this.#creditMs -= now - this.#since;
    this.#since = now;
  }

  async #watch(): Promise<void> {
    for (let left = this.#creditMs; left >= 0; left = this.#creditMs) {
      await this.#clock.sleep(Math.ceil(left) + 1, this.#done.signal);
      this.#settle();
    }
    this.#expired.abort(new Error('below the minimum rate'));
  }
}
