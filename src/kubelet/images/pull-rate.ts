import type { Clock } from '../../host/clock.ts';

/** How many pulls may begin: `qps` each second in the long run, `burst` at once; 0 for any number. */
export interface PullRateLimit {
  readonly qps: number;
  readonly burst: number;
}

/** Says which pulls may begin. Who may not is not queued: the back-off of its image brings it back. */
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
