import { type RateLimit, TokenBucket } from '../../base/token-bucket.ts';
import type { Clock } from '../../host/clock.ts';

/** Delays requests so that they stay within the limit, in order of arrival. */
export class RequestRateLimiter {
  readonly #qps: number;
  readonly #clock: Clock;
  /** A waiting request has taken its token in advance. */
  readonly #tokens: TokenBucket;

  constructor(limit: RateLimit, clock: Clock) {
    this.#qps = limit.qps;
    this.#clock = clock;
    this.#tokens = new TokenBucket(limit, clock.monotonic());
  }

  /** Resolves when the request may begin. */
  async wait(signal: AbortSignal): Promise<void> {
    if (this.#qps === 0) return;
    const left = this.#tokens.left(this.#clock.monotonic()) - 1;
    this.#tokens.take();
    if (left >= 0) return;
    try {
      await this.#clock.sleep((-left / this.#qps) * 1000, signal);
    } catch (error) {
      this.#tokens.giveBack();
      throw error;
    }
  }
}
