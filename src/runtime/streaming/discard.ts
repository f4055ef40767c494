/** Reads what nobody wants, so that it does not stand in the way of what comes after it. Never rejects. */
export async function discard(chunks: AsyncIterable<unknown>): Promise<void> {
  try {
    for await (const _chunk of chunks);
  } catch {
    // A failure ends it as well.
  }
}
