/**
 * Runs `work` for one key, never twice at once.
 *
 * 1. A newer input replaces a waiting one; history is not replayed.
 * 2. `work` starts at least once after the last `offer`.
 * 3. `work` handles its errors and schedules its retries; a rejection is a bug and ends the process.
 */
export class LatestOnly<T> {
  readonly #work: (input: T) => Promise<void>;
  #waiting: { readonly input: T } | undefined;
  #draining: Promise<void> | undefined;

  constructor(work: (input: T) => Promise<void>) {
    this.#work = work;
  }

  offer(input: T): void {
    this.#waiting = { input };
    this.#draining ??= this.#drain();
  }

  /** Resolves when nothing runs and nothing waits. */
  async idle(): Promise<void> {
    while (this.#draining !== undefined) await this.#draining;
  }

  async #drain(): Promise<void> {
    try {
      for (let next = this.#take(); next; next = this.#take()) await this.#work(next.input);
    } finally {
      this.#draining = undefined;
    }
  }

  #take(): { readonly input: T } | undefined {
    const next = this.#waiting;
    this.#waiting = undefined;
    return next;
  }
}
