export interface BackoffShape {
  readonly firstMs: number;
  readonly maxMs: number;
  /** Up to this fraction of a delay is added at random, so that clients that failed together do not retry together. */
  readonly jitter: number;
}

/** The delay after consecutive failures: doubles each time, up to a limit. */
export class ExponentialBackoff {
  readonly #shape: BackoffShape;
  #ms: number;

  constructor(shape: BackoffShape) {
    this.#shape = shape;
    this.#ms = shape.firstMs;
  }

  /** The next delay; `fraction` is a random number in [0, 1). */
  next(fraction: number): number {
    const ms = this.#ms;
    this.#ms = Math.min(ms * 2, this.#shape.maxMs);
    return ms * (1 + this.#shape.jitter * fraction);
  }

  /** After a success the next failure counts as the first. */
  reset(): void {
    this.#ms = this.#shape.firstMs;
  }
}
