import { abortable } from '../../base/abortable.ts';
import { Semaphore } from '../../base/semaphore.ts';

/** How many images may be pulled at once. */
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
 * Pulls an image once for all waiting callers.
 * 1. Calls for a key that is being pulled share the result or the error.
 * 2. A caller that stops waiting does not affect the others. The pull is aborted when no caller is left.
 * 3. At most as many pulls run as the limits allow. The others start in order of request.
 */
export class SharedPulls<T> {
  readonly #semaphore: Semaphore;
  readonly #inFlight = new Map<string, InFlightPull<T>>();
  #completed = 0;

  constructor({ serializeImagePulls, maxParallelImagePulls }: PullLimits) {
    this.#semaphore = new Semaphore(serializeImagePulls ? 1 : maxParallelImagePulls || Number.POSITIVE_INFINITY);
  }

  /** The number of successful pulls. */
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
    // Without callers the only error is the abort, which needs no handler.
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
