import { type RateLimit, TokenBucket } from '../../base/token-bucket.ts';
import type { Clock } from '../../host/clock.ts';

/** Limits the rate of pulls. Rejected pulls are not queued: they retry after the back-off of their image. */
export class PullRateLimiter {
  readonly #qps: number;
  readonly #clock: Clock;
  readonly #tokens: TokenBucket;

  constructor(limit: RateLimit, clock: Clock) {
    this.#qps = limit.qps;
    this.#clock = clock;
    this.#tokens = new TokenBucket(limit, clock.monotonic());
  }

  tryAccept(): boolean {
    if (this.#qps === 0) return true;
    if (this.#tokens.left(this.#clock.monotonic()) < 1) return false;
    this.#tokens.take();
    return true;
  }
}
