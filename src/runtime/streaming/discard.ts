/** Reads and drops unwanted data, so that it does not block other streams. Never rejects. */
export async function discard(chunks: AsyncIterable<unknown>): Promise<void> {
  try {
    for await (const _chunk of chunks);
  } catch {
    // An error ends the stream.
  }
}
