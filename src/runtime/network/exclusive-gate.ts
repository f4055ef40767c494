import { abortable } from '../../base/abortable.ts';

/** A read-write lock. A writer waits for current readers and blocks later ones, so it does not starve. */
export class ExclusiveGate {
  readonly #inside = new Set<Promise<unknown>>();
  #alone: Promise<void> | undefined;

  async together<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    while (this.#alone !== undefined) await abortable(this.#alone, signal);
    const done = work();
    this.#inside.add(done);
    try {
      return await done;
    } finally {
      this.#inside.delete(done);
    }
  }

  async alone<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    while (this.#alone !== undefined) await abortable(this.#alone, signal);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#alone = promise;
    try {
      await abortable(Promise.allSettled(this.#inside), signal);
      return await work();
    } finally {
      this.#alone = undefined;
      resolve();
    }
  }
}
