import { abortable } from '../../base/abortable.ts';
import { Semaphore } from '../../base/semaphore.ts';

/** How many different images may be pulled at once. */
export interface PullLimits {
  readonly serializeImagePulls: boolean;
  readonly maxParallelImagePulls: number | undefined;
}

interface Flight<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  waiters: number;
}

/**
 * Pulls an image once for all who wait for it.
 * 1. Whoever asks for a key while it is being pulled shares the result, and the failure.
 * 2. Who stops waiting leaves the others alone; when nobody waits any more the pull is aborted.
 * 3. At most as many pulls run as the limits allow; the others start in the order in which they were asked for.
 */
export class SharedPulls<T> {
  readonly #slots: Semaphore;
  readonly #flights = new Map<string, Flight<T>>();
  #landings = 0;

  constructor({ serializeImagePulls, maxParallelImagePulls }: PullLimits) {
    this.#slots = new Semaphore(serializeImagePulls ? 1 : maxParallelImagePulls || Number.POSITIVE_INFINITY);
  }

  /** How many pulls have ended well so far. */
  get landings(): number {
    return this.#landings;
  }

  async pull(key: string, work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const flight = this.#flights.get(key) ?? this.#start(key, work);
    flight.waiters++;
    try {
      return await abortable(flight.result, signal);
    } finally {
      flight.waiters--;
      if (flight.waiters === 0) this.#land(key, flight);
    }
  }

  #start(key: string, work: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const controller = new AbortController();
    const { signal } = controller;
    const flight: Flight<T> = { result: this.#slots.run(() => work(signal), signal), controller, waiters: 0 };
    // Without a waiter left nobody hears of the failure, which then is the abort.
    flight.result.then(
      () => this.#landings++,
      () => undefined,
    );
    this.#flights.set(key, flight);
    return flight;
  }

  #land(key: string, flight: Flight<T>): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
    flight.controller.abort();
  }
}
