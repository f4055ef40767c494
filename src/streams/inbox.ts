/** Notified of every item that is queued and dequeued. */
export interface InboxObserver<T> {
  added(item: T): void;
  removed(item: T): void;
}

export interface InboxOptions<T> {
  readonly observer?: InboxObserver<T>;
  /** `newest`: a new item replaces an unread one. */
  readonly keep?: 'all' | 'newest';
}

/**
 * A queue with one reader.
 * 1. Items from before the end are still read.
 * 2. After the reader has left, and after `discard`, new items are dropped.
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

  /** Whether new items will be read. */
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
