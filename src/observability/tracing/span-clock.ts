import type { Clock } from '../../host/clock.ts';

/** Smaller differences are of the resolution of the wall clock. */
const STEP_MS = 1_000;

/** Times of spans in milliseconds since 1970 and fractions: of the monotonic clock, so that they are in order. */
export class SpanClock {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  #epochMs: number;

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock;
    this.#epochMs = clock.now() - clock.monotonic();
  }

  /** What the spans of one trace add to the monotonic clock. It follows the wall clock when that is set. */
  epochMs(): number {
    const epochMs = this.#clock.now() - this.#clock.monotonic();
    if (Math.abs(epochMs - this.#epochMs) > STEP_MS) this.#epochMs = epochMs;
    return this.#epochMs;
  }

  nowMs(epochMs: number): number {
    return epochMs + this.#clock.monotonic();
  }
}
