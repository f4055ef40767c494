import type { Clock } from '../../host/clock.ts';

/** How many requests may begin: `qps` each second in the long run, `burst` at once. */
export interface RequestRateLimit {
  /** 0: any number. */
  readonly qps: number;
  readonly burst: number;
}

/** Lets requests begin in the order in which they came, as fast as is allowed. */
export class RequestRateLimiter {
  readonly #limit: RequestRateLimit;
  readonly #clock: Clock;
  /** Below zero: so many wait. */
  #left: number;
  #atMs: number;

  constructor(limit: RequestRateLimit, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
    this.#left = limit.burst;
    this.#atMs = clock.monotonic();
  }

  /** Resolves when it is one's turn. */
  async wait(signal: AbortSignal): Promise<void> {
    const { qps, burst } = this.#limit;
    if (qps === 0) return;
    const now = this.#clock.monotonic();
    this.#left = Math.min(burst, this.#left + ((now - this.#atMs) / 1000) * qps) - 1;
    this.#atMs = now;
    if (this.#left >= 0) return;
    try {
      await this.#clock.sleep((-this.#left / qps) * 1000, signal);
    } catch (error) {
      this.#left++;
      throw error;
    }
  }
}
