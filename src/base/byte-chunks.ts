/** Reads a whole stream. */
export async function collectBytes(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  return Buffer.concat(await Array.fromAsync(chunks));
}

/** Reads a whole stream as UTF-8 text. */
export async function collectText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  return decodeChunks(await Array.fromAsync(chunks));
}

/** Decodes the chunks as a whole: a character may be split between two of them. */
export function decodeChunks(chunks: readonly Uint8Array[]): string {
  const [only = new Uint8Array()] = chunks;
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(chunks.length > 1 ? Buffer.concat(chunks) : only);
}

/** Passes a stream through and throws the error of `tooLong` after more than `maxBytes`. */
export async function* limitBytes(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  tooLong: () => Error,
): AsyncGenerator<Uint8Array, void> {
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.byteLength;
    if (length > maxBytes) throw tooLong();
    yield chunk;
  }
}
