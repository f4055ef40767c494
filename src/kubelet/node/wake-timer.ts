import type { Clock } from '../../host/clock.ts';

/** Lets one sleeper sleep, until it is time or something happens. What happens while it is awake is not missed. */
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

  /** Never rejects: who is woken looks at the signal. */
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
