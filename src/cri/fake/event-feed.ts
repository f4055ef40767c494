import { AsyncQueue } from '../async-queue.ts';

/** Delivers every event to all current subscribers. */
export class EventFeed<T> {
  readonly #subscribers = new Set<AsyncQueue<T>>();

  get hasSubscribers(): boolean {
    return this.#subscribers.size > 0;
  }

  publish(event: T): void {
    for (const subscriber of this.#subscribers) subscriber.push(event);
  }

  /** Every stream throws `reason` after its queued events. */
  failAll(reason: unknown): void {
    for (const subscriber of this.#subscribers) subscriber.fail(reason);
  }

  /** Subscribes with the first read. Throws the signal's reason when it aborts. */
  async *subscribe(signal: AbortSignal): AsyncGenerator<T, undefined> {
    signal.throwIfAborted();
    const subscriber = new AsyncQueue<T>();
    const onAbort = () => subscriber.fail(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#subscribers.add(subscriber);
    try {
      yield* subscriber.read();
    } finally {
      this.#subscribers.delete(subscriber);
      signal.removeEventListener('abort', onAbort);
    }
  }
}
