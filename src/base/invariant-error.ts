/**
 * A broken invariant: the state of this process is known to be wrong, for example two workers own one pod. It is the only
 * error that ends the process; the next process reads the state of the machine again.
 */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/** Whether the error is a broken invariant, or has one among its causes. */
export function isBrokenInvariant(error: unknown): boolean {
  if (error instanceof InvariantError) return true;
  if (error instanceof AggregateError && error.errors.some(isBrokenInvariant)) return true;
  return error instanceof Error && error.cause !== undefined && isBrokenInvariant(error.cause);
}
