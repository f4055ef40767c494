/** The stream ended in the middle of a record. */
export class UnexpectedEofError extends Error {
  override readonly name = 'UnexpectedEofError';
}

/** Sequential access to bytes. */
export interface ByteInput {
  /** Returns at least one byte and at most `most`; `undefined` at the end. */
  read(most: number): Promise<Uint8Array | undefined>;
  /**
   * Returns exactly `length` bytes; `undefined` at the end of the data. Throws `UnexpectedEofError` if only some of them are
   * left.
   */
  readExactly(length: number): Promise<Uint8Array | undefined>;
  /** Throws `UnexpectedEofError` if fewer bytes are left. */
  skip(length: number): Promise<void>;
}

/** Reads a stream of chunks byte by byte. */
export class ByteReader implements ByteInput {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  async read(most: number): Promise<Uint8Array | undefined> {
    while (this.#rest.byteLength === 0) {
      const next = await this.#chunks.next();
      if (next.done) return undefined;
      this.#rest = next.value;
    }
    const taken = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(taken.byteLength);
    return taken;
  }

  async readExactly(length: number): Promise<Uint8Array | undefined> {
    const first = await this.read(length);
    if (first === undefined || first.byteLength === length) return first;
    const whole = new Uint8Array(length);
    whole.set(first);
    for (let filled = first.byteLength; filled < length; ) {
      const more = await this.read(length - filled);
      if (more === undefined) throw new UnexpectedEofError(`unexpected end of data after ${filled} of ${length} bytes`);
      whole.set(more, filled);
      filled += more.byteLength;
    }
    return whole;
  }

  async skip(length: number): Promise<void> {
    for (let left = length; left > 0; ) {
      const some = await this.read(left);
      if (some === undefined) throw new UnexpectedEofError(`unexpected end of data, ${left} bytes are missing`);
      left -= some.byteLength;
    }
  }

  /** Reads to the end. */
  async drain(): Promise<void> {
    while ((await this.read(Number.MAX_SAFE_INTEGER)) !== undefined);
  }

  /** Releases the source. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
}
