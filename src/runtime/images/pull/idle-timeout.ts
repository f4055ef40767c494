import type { Clock } from '../../../host/clock.ts';

/** Aborts `over` when nothing was received for too long. Uses one timer, however often data arrives. */
export class IdleTimeout implements Disposable {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #expired = new AbortController();
  readonly #done = new AbortController();
  /** Absent while paused. */
  #since: number | undefined;

  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.restart();
    this.#watch().catch(() => {}); // rejects only when disposed
  }

  get signal(): AbortSignal {
    return this.#expired.signal;
  }

  restart(): void {
    this.#since = this.#clock.monotonic();
  }

  pause(): void {
    this.#since = undefined;
  }

  [Symbol.dispose](): void {
    this.#done.abort();
  }

  async #watch(): Promise<void> {
    for (let left = this.#limitMs; left > 0; left = this.#left()) await this.#clock.sleep(left, this.#done.signal);
    this.#expired.abort(new Error(`silent for ${this.#limitMs} ms`));
  }

  #left(): number {
    return this.#since === undefined ? this.#limitMs : this.#since + this.#limitMs - this.#clock.monotonic();
  }
}
