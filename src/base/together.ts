/**
 * Does several things at once, all or nothing: the first failure aborts the others and is thrown, but only when every one
 * has come to its end. Who undoes then undoes something that stands still.
 */
export async function together<const Works extends ReadonlyArray<(signal: AbortSignal) => Promise<unknown>>>(
  works: Works,
  signal: AbortSignal,
): Promise<{ [Index in keyof Works]: Awaited<ReturnType<Works[Index]>> }> {
  const failed = new AbortController();
  const any = AbortSignal.any([signal, failed.signal]);
  let first: { readonly error: unknown } | undefined;
  const results = await Promise.all(
    works.map(async (work) => {
      try {
        return await work(any);
      } catch (error) {
        first ??= { error };
        failed.abort(error);
        return undefined;
      }
    }),
  );
  if (first) throw first.error;
  return results as { [Index in keyof Works]: Awaited<ReturnType<Works[Index]>> }; // one result for each, in order
}
