/** All of a stream. */
export async function wholeBytes(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  return Buffer.concat(await Array.fromAsync(chunks));
}

/** All of a stream, as text. */
export async function wholeText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  return textOfChunks(await Array.fromAsync(chunks));
}

/** As a whole: a character may be cut between two chunks. */
export function textOfChunks(chunks: readonly Uint8Array[]): string {
  const [only = new Uint8Array()] = chunks;
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(chunks.length > 1 ? Buffer.concat(chunks) : only);
}

/** The same stream, which fails with what `tooLong` makes where it has more than so many bytes. */
export async function* limited(
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
