import { abortable } from '../../base/abortable.ts';

/** A read-write lock. A writer waits for current readers and blocks later ones, so it does not starve. */
export class ReadWriteLock {
  readonly #readers = new Set<Promise<unknown>>();
  #writer: Promise<void> | undefined;

  async shared<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    while (this.#writer !== undefined) await abortable(this.#writer, signal);
    const done = work();
    this.#readers.add(done);
    try {
      return await done;
    } finally {
      this.#readers.delete(done);
    }
  }

  async exclusive<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    while (this.#writer !== undefined) await abortable(this.#writer, signal);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#writer = promise;
    try {
      await abortable(Promise.allSettled(this.#readers), signal);
      return await work();
    } finally {
      this.#writer = undefined;
      resolve();
    }
  }
}
