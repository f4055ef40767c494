import { AsyncQueue } from '../async-queue.ts';

/** Tells everybody who listens of everything from the moment on at which they began to. */
export class EventFeed<T> {
  readonly #listeners = new Set<AsyncQueue<T>>();

  /** Whether anybody would hear an event. */
  get hasSubscribers(): boolean {
    return this.#listeners.size > 0;
  }

  publish(event: T): void {
    for (const listener of this.#listeners) listener.push(event);
  }

  /** Every stream throws this after what it has still to tell. */
  failAll(reason: unknown): void {
    for (const listener of this.#listeners) listener.fail(reason);
  }

  /** Subscribed as soon as the first event is asked for. Throws the signal's reason when that aborts. */
  async *subscribe(signal: AbortSignal): AsyncGenerator<T, undefined> {
    signal.throwIfAborted();
    const listener = new AsyncQueue<T>();
    const onAbort = () => listener.fail(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#listeners.add(listener);
    try {
      yield* listener.read();
    } finally {
      this.#listeners.delete(listener);
      signal.removeEventListener('abort', onAbort);
    }
  }
}
