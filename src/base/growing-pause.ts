export interface PauseShape {
  readonly firstMs: number;
  readonly maxMs: number;
  /** Up to this share of a pause is added by chance, so that those who failed together do not come back together. */
  readonly jitter: number;
}

/** How long to wait after each of several failures in a row: twice as long as the last time, up to a limit. */
export class GrowingPause {
  readonly #shape: PauseShape;
  #ms: number;

  constructor(shape: PauseShape) {
    this.#shape = shape;
    this.#ms = shape.firstMs;
  }

  /** The next pause; `fraction` is the chance, in [0, 1). */
  next(fraction: number): number {
    const ms = this.#ms;
    this.#ms = Math.min(ms * 2, this.#shape.maxMs);
    return ms * (1 + this.#shape.jitter * fraction);
  }

  /** It went well: the next failure is a first one. */
  reset(): void {
    this.#ms = this.#shape.firstMs;
  }
}
