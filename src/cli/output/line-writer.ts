import type { Output } from './output.ts';

/** Writes whole lines in order; callers do not wait. */
export class LineWriter {
  readonly #output: Output;
  readonly #broken: (error: unknown) => void;
  #last: Promise<void> = Promise.resolve();
  #isBroken = false;

  /** `broken` is called once, when a write fails because the reader is gone; later lines are dropped. */
  constructor(output: Output, broken: (error: unknown) => void) {
    this.#output = output;
    this.#broken = broken;
  }

  /** A terminal shows its control characters instead of acting on them. */
  line(text: string): void {
    void this.#append(() => this.#output.write(`${text}\n`));
  }

  /** Text whose only escape sequences are our own. Resolves when it is written. */
  writeRaw(text: string): Promise<void> {
    return this.#append(() => this.#output.writeRaw(text));
  }

  /** Resolves when all lines so far are written. */
  flush(): Promise<void> {
    return this.#last;
  }

  #append(write: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(() => this.#unlessBroken(write));
    return this.#last;
  }

  async #unlessBroken(write: () => Promise<void>): Promise<void> {
    if (this.#isBroken) return;
    try {
      await write();
    } catch (error) {
      this.#isBroken = true;
      this.#broken(error);
    }
  }
}
