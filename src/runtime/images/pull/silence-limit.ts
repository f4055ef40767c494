import type { Clock } from '../../../host/clock.ts';

/** Tells when nothing has come for too long. One timer at a time, however often something comes. */
export class SilenceLimit implements Disposable {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #over = new AbortController();
  readonly #done = new AbortController();
  /** Absent while nobody waits. */
  #since: number | undefined;

  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.begin();
    this.#watch().catch(() => {}); // rejects only when it is disposed of
  }

  get over(): AbortSignal {
    return this.#over.signal;
  }

  begin(): void {
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
    this.#over.abort(new Error(`silent for ${this.#limitMs} ms`));
  }

  #left(): number {
    return this.#since === undefined ? this.#limitMs : this.#since + this.#limitMs - this.#clock.monotonic();
  }
}
