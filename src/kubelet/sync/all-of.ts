import { textOf } from '../../base/text-of.ts';

/** Lets every one finish, then fails if any did. */
export async function allOf(work: readonly Promise<unknown>[]): Promise<void> {
  const failures = (await Promise.allSettled(work)).flatMap((each) =>
    each.status === 'rejected' ? [each.reason] : [],
  );
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1)
    throw new AggregateError(failures, `several parts failed: ${failures.map(textOf).join('; ')}`);
}
