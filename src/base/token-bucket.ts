/** `qps` operations per second on average and `burst` at once; a `qps` of 0: no limit. */
export interface RateLimit {
  readonly qps: number;
  readonly burst: number;
}

/** Holds up to `burst` tokens and gains `qps` tokens per second. Times are monotonic milliseconds. */
export class TokenBucket {
  readonly #limit: RateLimit;
  #left: number;
  #atMs: number;

  constructor(limit: RateLimit, nowMs: number) {
    this.#limit = limit;
    this.#left = limit.burst;
    this.#atMs = nowMs;
  }

  /** The number of tokens now. Negative: tokens that were taken in advance. */
  left(nowMs: number): number {
    const { qps, burst } = this.#limit;
    this.#left = Math.min(burst, this.#left + ((nowMs - this.#atMs) / 1000) * qps);
    this.#atMs = nowMs;
    return this.#left;
  }

  take(): void {
    this.#left--;
  }

  giveBack(): void {
    this.#left++;
  }
}
