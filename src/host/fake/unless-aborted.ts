/** Settles like `result`, but rejects with the signal's reason as soon as it aborts. */
export async function unlessAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([result, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
