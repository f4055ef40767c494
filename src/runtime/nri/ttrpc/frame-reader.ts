/** A frame format: a header of fixed length with the length of the payload. */
export interface FrameFormat<H extends { readonly length: number }> {
  readonly headerBytes: number;
  /** A larger frame is from a broken or hostile sender. */
  readonly maxPayloadBytes: number;
  parseHeader(header: DataView): H;
}

export interface Frame<H> {
  readonly header: H;
  readonly payload: Uint8Array;
}

/** The peer violates the protocol: nothing that follows can be parsed. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}

/** Assembles frames from chunks of any size. Unusable after a `ProtocolError`. */
export class FrameReader<H extends { readonly length: number }> {
  readonly #format: FrameFormat<H>;
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;
  #header: H | undefined;

  constructor(format: FrameFormat<H>) {
    this.#format = format;
  }

  /** Returns the frames that these bytes complete. */
  push(chunk: Uint8Array): readonly Frame<H>[] {
    if (chunk.byteLength > 0) this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    const frames: Frame<H>[] = [];
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) frames.push(frame);
    return frames;
  }

  #next(): Frame<H> | undefined {
    const header = this.#header ?? this.#takeHeader();
    this.#header = header;
    if (header === undefined || this.#bytes < header.length) return undefined;
    this.#header = undefined;
    return { header, payload: this.#take(header.length) };
  }

  #takeHeader(): H | undefined {
    const { headerBytes, maxPayloadBytes, parseHeader } = this.#format;
    if (this.#bytes < headerBytes) return undefined;
    const bytes = this.#take(headerBytes);
    const header = parseHeader(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    if (header.length > maxPayloadBytes) {
      throw new ProtocolError(`frame of ${header.length} bytes exceeds the limit of ${maxPayloadBytes}`);
    }
    return header;
  }

  /** The caller has checked that they exist. Copies only bytes that span several chunks. */
  #take(count: number): Uint8Array {
    this.#bytes -= count;
    const [first] = this.#chunks;
    if (first !== undefined && first.byteLength >= count) {
      this.#dropFromFirst(first, count);
      return first.subarray(0, count);
    }
    const taken = new Uint8Array(count);
    for (let filled = 0; filled < count; ) {
      const chunk = this.#chunks[0];
      if (chunk === undefined) throw new Error('took more bytes than there are');
      const part = chunk.subarray(0, count - filled);
      taken.set(part, filled);
      filled += part.byteLength;
      this.#dropFromFirst(chunk, part.byteLength);
    }
    return taken;
  }

  #dropFromFirst(first: Uint8Array, count: number): void {
    if (first.byteLength === count) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(count);
  }
}
