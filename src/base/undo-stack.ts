/** Cleanups, run last-in, first-out. Each is pushed before the operation that it undoes, so it must tolerate an operation that never ran. */
export class UndoStack {
  readonly #steps: Array<(signal: AbortSignal) => Promise<unknown>> = [];

  push(step: (signal: AbortSignal) => Promise<unknown>): void {
    this.#steps.push(step);
  }

  /** A failing step does not stop the rest; what failed, in the order in which it was tried. The stack is empty then. */
  async run(signal: AbortSignal): Promise<readonly unknown[]> {
    const failures: unknown[] = [];
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      try {
        await step(signal);
      } catch (error) {
        failures.push(error);
      }
    }
    return failures;
  }
}
