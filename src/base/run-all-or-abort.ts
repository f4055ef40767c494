/**
 * Runs several tasks in parallel, all or nothing: the first error aborts the others and is thrown after all have settled,
 * so that an undo never races with a running task.
 */
export async function runAllOrAbort<const Works extends ReadonlyArray<(signal: AbortSignal) => Promise<unknown>>>(
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
