import type { Clock } from '../../host/clock.ts';

/** Lets one sleeper sleep, until it is time or something happens. What happens while it is awake is not missed. */
export class Alarm {
  readonly #clock: Clock;
  #rung = false;
  #nap: AbortController | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  ring(): void {
    this.#rung = true;
    this.#nap?.abort();
  }

  /** Never rejects: who is woken looks at the signal. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#rung) {
      const nap = new AbortController();
      this.#nap = nap;
      await this.#clock.sleep(ms, AbortSignal.any([signal, nap.signal])).catch(() => undefined);
      this.#nap = undefined;
    }
    this.#rung = false;
  }
}
