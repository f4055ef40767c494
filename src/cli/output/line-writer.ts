import type { Output } from './terminal.ts';

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

  get isTerminal(): boolean {
    return this.#output.isTerminal;
  }

  line(text: string): void {
    void this.write(`${text}\n`);
  }

  /** Resolves when the text is handed on: for who has more than fits into memory. */
  write(text: string): Promise<void> {
    this.#last = this.#last.then(() => this.#write(text));
    return this.#last;
  }

  /** Resolves when everything told so far is written. */
  flush(): Promise<void> {
    return this.#last;
  }

  async #write(text: string): Promise<void> {
    if (this.#isBroken) return;
    try {
      await this.#output.write(text);
    } catch (error) {
      this.#isBroken = true;
      this.#broken(error);
    }
  }
}
