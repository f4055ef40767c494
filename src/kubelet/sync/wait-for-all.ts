import { errorText } from '../../base/error-text.ts';

/** Lets every one finish, then fails if any did; what several failed of is told once. */
export async function waitForAll(work: readonly Promise<unknown>[]): Promise<void> {
  const ended = await Promise.allSettled(work);
  const reasons = ended.flatMap((each) => (each.status === 'rejected' ? errorsOf(each.reason) : []));
  const failures = [...new Set(reasons)];
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1)
    throw new AggregateError(failures, `several parts failed: ${failures.map(errorText).join('; ')}`);
}

function errorsOf(error: unknown): unknown[] {
  return error instanceof AggregateError ? error.errors : [error];
}
