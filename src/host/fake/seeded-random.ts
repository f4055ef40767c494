import type { Random } from '../random.ts';

/** The same numbers for the same seed (mulberry32). Not for secrets. */
export class SeededRandom implements Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  fraction(): number {
    return this.#next() / 2 ** 32;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.#next() >>> 24);
  }

  /** One of these; `undefined` if there are none. */
  pick<T>(choices: readonly T[]): T | undefined {
    return choices[Math.floor(this.fraction() * choices.length)];
  }

  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }
}
