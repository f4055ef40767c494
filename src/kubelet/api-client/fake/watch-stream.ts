/**
 * An unbounded queue with one reader.
 * 1. Items pushed before the end or an error are still read.
 * 2. An aborted signal takes precedence over unread items.
 */
export class WatchStream<T> {
  readonly #unread: T[] = [];
  #end: { readonly error?: unknown } | undefined;
  #wake: (() => void) | undefined;

  push(item: T): void {
    if (this.#end) return;
    this.#unread.push(item);
    this.#wake?.();
  }

  /** Ends the stream, with or without an error. Only the first call has an effect. */
  end(error?: unknown): void {
    this.#end ??= error === undefined ? {} : { error };
    this.#wake?.();
  }

  async *read(signal: AbortSignal): AsyncGenerator<T, undefined> {
    const onAbort = (): void => this.#wake?.();
    signal.addEventListener('abort', onAbort);
    try {
      while (true) {
        signal.throwIfAborted();
        const item = this.#unread.shift();
        if (item !== undefined) yield item;
        else if (this.#end) break;
        else await this.#change();
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
    if ('error' in this.#end) throw this.#end.error;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
