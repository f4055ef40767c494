/**
 * Works on groups of at most `size`, one group after the other, and answers the results in order. Fails with the first
 * failure of a group once all of that group have ended: nothing goes on behind the caller's back.
 */
export async function inGroups<T, R>(
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
