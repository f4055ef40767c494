const HEADER_BYTES = 8;
const MAX_BYTES = 256 * 1024;

/** The input that a thread is running, readable from another thread while it runs. */
export class CurrentInput {
  readonly #numbers: Int32Array;
  readonly #bytes: Uint8Array;

  constructor(memory: SharedArrayBuffer) {
    this.#numbers = new Int32Array(memory, 0, 2);
    this.#bytes = new Uint8Array(memory, HEADER_BYTES);
  }

  static allocate(): SharedArrayBuffer {
    return new SharedArrayBuffer(HEADER_BYTES + MAX_BYTES);
  }

  set(input: Uint8Array): void {
    const shown = input.subarray(0, MAX_BYTES);
    this.#bytes.set(shown);
    this.#numbers[1] = shown.length;
    Atomics.add(this.#numbers, 0, 1);
  }

  /** Increases with each input. */
  get count(): number {
    return Atomics.load(this.#numbers, 0);
  }

  get(): Uint8Array {
    return this.#bytes.slice(0, this.#numbers[1]);
  }
}
