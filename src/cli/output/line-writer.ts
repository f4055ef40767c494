import type { Output } from './output.ts';

/** Writes whole lines in order, without making whoever tells them wait. */
export class LineWriter {
  readonly #output: Output;
  readonly #broken: (error: unknown) => void;
  #last: Promise<void> = Promise.resolve();
  #isBroken = false;

  /** `broken` is told once, when nobody reads any more; later lines are dropped. */
  constructor(output: Output, broken: (error: unknown) => void) {
    this.#output = output;
    this.#broken = broken;
  }

  /** A terminal shows its control characters instead of acting on them. */
  line(text: string): void {
    void this.#append(() => this.#output.write(`${text}\n`));
  }

  /** Text that may have escape sequences of our own, and no others. Resolves when it is handed on. */
  writeRaw(text: string): Promise<void> {
    return this.#append(() => this.#output.writeRaw(text));
  }

  /** Resolves when everything told so far is written. */
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
