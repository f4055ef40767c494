/** Carries items from whoever pushes them to one reader, in order and without limit. */
export class AsyncQueue<T> {
  readonly #items: T[] = [];
  #wake = Promise.withResolvers<void>();
  #broken: { readonly reason: unknown } | undefined;

  push(item: T): void {
    this.#items.push(item);
    this.#wake.resolve();
  }

  /** The reader throws this after what was pushed before; the first reason counts. */
  fail(reason: unknown): void {
    this.#broken ??= { reason };
    this.#wake.resolve();
  }

  async *read(): AsyncGenerator<T, undefined> {
    while (true) {
      yield* this.#items.splice(0);
      if (this.#items.length > 0) continue; // pushed while the reader was busy with the last of them
      if (this.#broken) throw this.#broken.reason;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
  }
}
