/**
 * Runs `work` for one key, never twice at once.
 *
 * 1. A newer input replaces a waiting one; history is not replayed.
 * 2. `work` starts at least once after the last `offer`.
 * 3. `work` handles its errors and schedules its retries. A rejection is a bug: `onUnhandled` gets it, and later inputs run.
 */
export class LatestOnly<T> {
  readonly #work: (input: T) => Promise<void>;
  readonly #onUnhandled: (error: unknown) => void;
  #waiting: { readonly input: T } | undefined;
  #draining: Promise<void> | undefined;

  constructor(work: (input: T) => Promise<void>, onUnhandled: (error: unknown) => void) {
    this.#work = work;
    this.#onUnhandled = onUnhandled;
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
      for (let next = this.#take(); next; next = this.#take()) await this.#run(next.input);
    } finally {
      this.#draining = undefined;
    }
  }

  async #run(input: T): Promise<void> {
    try {
      await this.#work(input);
    } catch (error) {
      this.#onUnhandled(error);
    }
  }

  #take(): { readonly input: T } | undefined {
    const next = this.#waiting;
    this.#waiting = undefined;
    return next;
  }
}
