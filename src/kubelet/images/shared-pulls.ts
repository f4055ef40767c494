import { abortable } from '../../base/abortable.ts';
import { Semaphore } from '../../base/semaphore.ts';

/** How many different images may be pulled at once. */
export interface PullLimits {
  readonly serializeImagePulls: boolean;
  readonly maxParallelImagePulls: number | undefined;
}

interface InFlightPull<T> {
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
  readonly #semaphore: Semaphore;
  readonly #inFlight = new Map<string, InFlightPull<T>>();
  #completed = 0;

  constructor({ serializeImagePulls, maxParallelImagePulls }: PullLimits) {
    this.#semaphore = new Semaphore(serializeImagePulls ? 1 : maxParallelImagePulls || Number.POSITIVE_INFINITY);
  }

  /** How many pulls have ended well so far. */
  get completed(): number {
    return this.#completed;
  }

  async pull(key: string, work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const flight = this.#inFlight.get(key) ?? this.#start(key, work);
    flight.waiters++;
    try {
      return await abortable(flight.result, signal);
    } finally {
      flight.waiters--;
      if (flight.waiters === 0) this.#finish(key, flight);
    }
  }

  #start(key: string, work: (signal: AbortSignal) => Promise<T>): InFlightPull<T> {
    const controller = new AbortController();
    const { signal } = controller;
    const flight: InFlightPull<T> = { result: this.#semaphore.run(() => work(signal), signal), controller, waiters: 0 };
    // Without a waiter left nobody hears of the failure, which then is the abort.
    flight.result.then(
      () => this.#completed++,
      () => undefined,
    );
    this.#inFlight.set(key, flight);
    return flight;
  }

  #finish(key: string, flight: InFlightPull<T>): void {
    if (this.#inFlight.get(key) === flight) this.#inFlight.delete(key);
    flight.controller.abort();
  }
}
