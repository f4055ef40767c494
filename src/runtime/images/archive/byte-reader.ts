/** The stream ended in the middle of something. */
export class CutOffError extends Error {
  override readonly name = 'CutOffError';
}

/** Bytes one after the other. */
export interface Bytes {
  /** At least one byte and at most `most`; `undefined` at the end. */
  some(most: number): Promise<Uint8Array | undefined>;
  /** So many bytes; `undefined` when there is none left. Throws a `CutOffError` when there are fewer. */
  exactly(length: number): Promise<Uint8Array | undefined>;
  /** Throws a `CutOffError` when there are fewer. */
  skip(length: number): Promise<void>;
}

/** A stream of chunks, by the byte. */
export class ByteReader implements Bytes {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  async some(most: number): Promise<Uint8Array | undefined> {
    while (this.#rest.byteLength === 0) {
      const next = await this.#chunks.next();
      if (next.done) return undefined;
      this.#rest = next.value;
    }
    const taken = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(taken.byteLength);
    return taken;
  }

  async exactly(length: number): Promise<Uint8Array | undefined> {
    const first = await this.some(length);
    if (first === undefined || first.byteLength === length) return first;
    const whole = new Uint8Array(length);
    whole.set(first);
    for (let filled = first.byteLength; filled < length; ) {
      const more = await this.some(length - filled);
      if (more === undefined) throw new CutOffError(`unexpected end of data after ${filled} of ${length} bytes`);
      whole.set(more, filled);
      filled += more.byteLength;
    }
    return whole;
  }

  async skip(length: number): Promise<void> {
    for (let left = length; left > 0; ) {
      const some = await this.some(left);
      if (some === undefined) throw new CutOffError(`unexpected end of data, ${left} bytes are missing`);
      left -= some.byteLength;
    }
  }

  /** To the end. */
  async drain(): Promise<void> {
    while ((await this.some(Number.MAX_SAFE_INTEGER)) !== undefined);
  }

  /** Lets go of the source. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
}
