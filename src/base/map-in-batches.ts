/**
 * Maps items in sequential batches of at most `size` and returns the results in order. Rejects with the first error of a
 * batch after the whole batch has settled, so no work continues after the rejection.
 */
export async function mapInBatches<T, R>(
  all: readonly T[],
  size: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  for (let start = 0; start < all.length; start += size) {
    const ended = await Promise.allSettled(all.slice(start, start + size).map(work));
    for (const each of ended) {
      if (each.status === 'rejected') throw each.reason;
      results.push(each.value);
    }
  }
  return results;
}
