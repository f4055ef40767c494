import type { Clock } from '../../host/clock.ts';

/** At most `qps` pulls per second on average and `burst` at once; 0: no limit. */
export interface PullRateLimit {
  readonly qps: number;
  readonly burst: number;
}

/** Limits the rate of pulls. Rejected pulls are not queued: they retry after the back-off of their image. */
export class PullRateLimiter {
  readonly #limit: PullRateLimit;
  readonly #clock: Clock;
  #left: number;
  #atMs: number;

  constructor(limit: PullRateLimit, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
    this.#left = limit.burst;
    this.#atMs = clock.monotonic();
  }

  tryAccept(): boolean {
    const { qps, burst } = this.#limit;
    if (qps === 0) return true;
    const now = this.#clock.monotonic();
    this.#left = Math.min(burst, this.#left + ((now - this.#atMs) / 1000) * qps);
    this.#atMs = now;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
