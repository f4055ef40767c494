import { errorText } from '../../base/error-text.ts';

/**
 * Waits until all have settled, then throws their distinct errors: a single error as it is, several as an
 * `AggregateError`.
 */
export async function waitForAll(work: readonly Promise<unknown>[]): Promise<void> {
  const settled = await Promise.allSettled(work);
  const reasons = settled.flatMap((each) => (each.status === 'rejected' ? errorsOf(each.reason) : []));
  const failures = [...new Set(reasons)];
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1)
    throw new AggregateError(failures, `several operations failed: ${failures.map(errorText).join('; ')}`);
}

function errorsOf(error: unknown): unknown[] {
  return error instanceof AggregateError ? error.errors : [error];
}
