import { SeededRandom } from '../../src/host/fake/seeded-random.ts';

/**
 * Decisions drawn from a seed. Draws with different `stream` names are independent. The name seeds the draws: another
 * name gives other worlds.
 */
export class Draw {
  readonly #random: SeededRandom;

  constructor(seed: number, stream: string) {
    let mixed = seed;
    for (const letter of stream) mixed = Math.imul(mixed ^ (letter.codePointAt(0) ?? 0), 0x9e3779b1) ^ (mixed >>> 13);
    this.#random = new SeededRandom(mixed);
    this.#random.bytes(8); // the first bytes of neighbouring seeds are alike
  }

  /** An integer; both ends are included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.#random.fraction() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.#random.fraction() < probability;
  }

  pick<T>(choices: readonly [T, ...T[]]): T {
    return choices[this.int(0, choices.length - 1)] ?? choices[0];
  }

  /** Calls `make` between `least` and `most` times, in order. */
  several<T>(least: number, most: number, make: (index: number) => T): T[] {
    return Array.from({ length: this.int(least, most) }, (_, index) => make(index));
  }
}
