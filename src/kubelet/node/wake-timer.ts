import type { Clock } from '../../host/clock.ts';

/** A sleep that can be interrupted. A `wake` while nothing sleeps ends the next sleep at once. */
export class WakeTimer {
  readonly #clock: Clock;
  #isWoken = false;
  #sleep: AbortController | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(): void {
    this.#isWoken = true;
    this.#sleep?.abort();
  }

  /** Never rejects: the caller checks the signal. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isWoken) {
      const nap = new AbortController();
      this.#sleep = nap;
      await this.#clock.sleep(ms, AbortSignal.any([signal, nap.signal])).catch(() => undefined);
      this.#sleep = undefined;
    }
    this.#isWoken = false;
  }
}
