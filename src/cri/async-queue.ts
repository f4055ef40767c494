/** An unbounded FIFO queue with one reader. */
export class AsyncQueue<T> {
  readonly #items: T[] = [];
  #wake = Promise.withResolvers<void>();
  #failed: { readonly reason: unknown } | undefined;

  push(item: T): void {
    this.#items.push(item);
    this.#wake.resolve();
  }

  /** The reader throws `reason` after the items pushed before. The first reason is kept. */
  fail(reason: unknown): void {
    this.#failed ??= { reason };
    this.#wake.resolve();
  }

  async *read(): AsyncGenerator<T, undefined> {
    while (true) {
      yield* this.#items.splice(0);
      if (this.#items.length > 0) continue; // pushed while the reader processed the last batch
      if (this.#failed) throw this.#failed.reason;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
  }
}
