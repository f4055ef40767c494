import type { Clock } from '../../host/clock.ts';

/** At most `qps` requests per second on average and `burst` at once. */
export interface RequestRateLimit {
  /** 0: no limit. */
  readonly qps: number;
  readonly burst: number;
}

/** Delays requests so that they stay within the limit, in order of arrival. */
export class RequestRateLimiter {
  readonly #limit: RequestRateLimit;
  readonly #clock: Clock;
  /** Negative: the number of waiting requests. */
  #left: number;
  #atMs: number;

  constructor(limit: RequestRateLimit, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
    this.#left = limit.burst;
    this.#atMs = clock.monotonic();
  }

  /** Resolves when the request may begin. */
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
