import { aborted } from '../../base/aborted.ts';
import type { Clock } from '../../host/clock.ts';
import type { Ending } from './ending.ts';

/** How long the end of the program may take. */
export interface EndLimits {
  /** From the first request on; asked for at that moment. */
  afterAsked(): number;
  /** From the second request on. */
  readonly afterInsisted: number;
}

/** The program has to end now, though something of it hangs. */
export type Overdue =
  | { readonly kind: 'late'; readonly afterMs: number }
  | { readonly kind: 'insisted' }
  | { readonly kind: 'abandoned' };

/** Resolves when the end takes longer than it may, or has become too urgent to wait for it. */
export async function whenOverdue(
  ending: Ending,
  clock: Pick<Clock, 'sleep'>,
  limits: EndLimits,
  signal: AbortSignal,
): Promise<Overdue> {
  await aborted(ending.asked);
  const afterMs = limits.afterAsked();
  const late = clock.sleep(afterMs, signal).then((): Overdue => ({ kind: 'late', afterMs }));
  const insisted = aborted(ending.insisted)
    .then(() => clock.sleep(limits.afterInsisted, signal))
    .then((): Overdue => ({ kind: 'insisted' }));
  const abandoned = aborted(ending.abandoned).then((): Overdue => ({ kind: 'abandoned' }));
  return Promise.race([late, insisted, abandoned]);
}

/**
 * Does the work of an agent that leaves its containers running when it ends. Resolves to `undefined` when its end was
 * asked for and is overdue: the work is left as it is, and the caller ends the process.
 */
export async function untilOverdue<T>(
  work: Promise<T>,
  ending: Ending,
  clock: Pick<Clock, 'sleep'>,
  report: (text: string) => void,
): Promise<T | undefined> {
  const over = new AbortController();
  const limits = { afterAsked: () => END_MS, afterInsisted: 0 };
  const overdue = whenOverdue(ending, clock, limits, over.signal).then((why) => {
    report(why.kind === 'late' ? overdueText(why) : 'ends at once, as it was asked to again');
    return undefined;
  });
  overdue.catch(() => {}); // the work has ended first
  try {
    return await Promise.race([work, overdue]);
  } finally {
    over.abort();
  }
}

/** Nothing of what ends takes longer, unless it hangs. */
const END_MS = 10_000;

export function overdueText(why: Overdue): string {
  const rest = 'the next start takes over what is left';
  return why.kind === 'late' ? `cannot end within ${why.afterMs / 1000} s, ${rest}` : `cannot end at once, ${rest}`;
}
