/** Told of everything that begins and ends to wait. */
export interface InboxObserver<T> {
  added(item: T): void;
  removed(item: T): void;
}

export interface InboxOptions<T> {
  readonly observer?: InboxObserver<T>;
  /** `newest`: what nobody has taken yet is forgotten for what comes after it. */
  readonly keep?: 'all' | 'newest';
}

/**
 * What waits for its one reader.
 * 1. What was there before the end is still read.
 * 2. After the reader has left, and after `discard`, whatever comes is dropped.
 */
export class Inbox<T extends object> implements AsyncIterable<T> {
  readonly #tally: InboxObserver<T> | undefined;
  readonly #kept: 'all' | 'newest';
  readonly #waiting: T[] = [];
  #state: 'open' | 'ended' | 'discarded' = 'open';
  #wake: (() => void) | undefined;

  constructor({ observer: tally, keep: kept = 'all' }: InboxOptions<T> = {}) {
    this.#tally = tally;
    this.#kept = kept;
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Whether anybody will ever see what is put in. */
  get isOpen(): boolean {
    return this.#state === 'open';
  }

  put(item: T): void {
    if (!this.isOpen) return;
    if (this.#kept === 'newest') this.#take();
    this.#waiting.push(item);
    this.#tally?.added(item);
    this.#wake?.();
  }

  end(): void {
    if (this.isOpen) this.#state = 'ended';
    this.#wake?.();
  }

  discard(): void {
    this.#state = 'discarded';
    while (this.#take());
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    try {
      for (;;) {
        for (let item = this.#take(); item; item = this.#take()) yield item;
        if (!this.isOpen) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      this.discard();
    }
  }

  #take(): T | undefined {
    const item = this.#waiting.shift();
    if (item) this.#tally?.removed(item);
    return item;
  }
}
