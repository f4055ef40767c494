import { abortable } from '../../base/abortable.ts';

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
 * 1. Pulls of one key never overlap; whoever asks meanwhile shares the result, and the failure.
 * 2. Who stops waiting leaves the others alone; when nobody waits any more the pull is aborted.
 * 3. At most as many pulls run as the limits allow; the others start in the order in which they were asked for.
 */
export class SharedPulls<T> {
  readonly #limit: number;
  readonly #flights = new Map<string, Flight<T>>();
  readonly #queue: Array<() => void> = [];
  #running = 0;

  constructor({ serializeImagePulls, maxParallelImagePulls }: PullLimits) {
    this.#limit = serializeImagePulls ? 1 : maxParallelImagePulls || Number.POSITIVE_INFINITY;
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
    const flight: Flight<T> = { result: this.#inTurn(work, controller.signal), controller, waiters: 0 };
    // Without a waiter left nobody hears of the failure, which then is the abort.
    flight.result.catch(() => undefined);
    this.#flights.set(key, flight);
    return flight;
  }

  #land(key: string, flight: Flight<T>): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
    flight.controller.abort();
  }

  async #inTurn(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#turn();
    try {
      signal.throwIfAborted();
      return await work(signal);
    } finally {
      this.#passOn();
    }
  }

  async #turn(): Promise<void> {
    if (this.#running < this.#limit) this.#running++;
    else await new Promise<void>((resolve) => this.#queue.push(resolve));
  }

  /** The place goes straight to the next in the queue, so that nobody who comes now is before it. */
  #passOn(): void {
    const next = this.#queue.shift();
    if (next) next();
    else this.#running--;
  }
}
