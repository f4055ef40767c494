import type { Clock } from '../host/clock.ts';

export interface LineBuffer {
  readonly clock: Pick<Clock, 'sleep'>;
  /** Lines are written when they have this size together. */
  readonly maxCharacters: number;
  /** A line waits for so long at most. */
  readonly flushMs: number;
  write(lines: string): void;
}

/** Collects lines and writes them together: kubelet's `infoBufferSize` and `flushFrequency`. */
export class BufferedLines {
  readonly #options: LineBuffer;
  #lines: string[] = [];
  #characters = 0;
  #isWaiting = false;

  constructor(options: LineBuffer) {
    this.#options = options;
  }

  add(line: string): void {
    this.#lines.push(line);
    this.#characters += line.length;
    if (this.#characters >= this.#options.maxCharacters) this.flush();
    else if (!this.#isWaiting) void this.#flushLater();
  }

  flush(): void {
    if (this.#lines.length === 0) return;
    const lines = this.#lines.join('');
    this.#lines = [];
    this.#characters = 0;
    this.#options.write(lines);
  }

  async #flushLater(): Promise<void> {
    this.#isWaiting = true;
    await this.#options.clock.sleep(this.#options.flushMs, NEVER).catch(() => undefined);
    this.#isWaiting = false;
    this.flush();
  }
}

/** The wait ends with the process. */
const NEVER = new AbortController().signal;
