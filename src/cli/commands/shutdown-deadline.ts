import { aborted } from '../../base/aborted.ts';
import type { Clock } from '../../host/clock.ts';
import type { Shutdown } from './shutdown.ts';

/** Time limits for the end of the program. */
export interface ShutdownLimits {
  /** From the first request on; evaluated at that moment. */
  afterRequestedMs(): number;
  /** From the second request on. */
  readonly afterUrgentMs: number;
}

/** Why the program has to exit now, although a part of it hangs. */
export type ShutdownOverdue =
  | { readonly kind: 'late'; readonly afterMs: number }
  | { readonly kind: 'insisted' }
  | { readonly kind: 'abandoned' };

/** Resolves when the shutdown exceeds its time limit or is abandoned. */
export async function whenOverdue(
  ending: Shutdown,
  clock: Pick<Clock, 'sleep'>,
  limits: ShutdownLimits,
  signal: AbortSignal,
): Promise<ShutdownOverdue> {
  await aborted(ending.requested);
  const afterMs = limits.afterRequestedMs();
  const late = clock.sleep(afterMs, signal).then((): ShutdownOverdue => ({ kind: 'late', afterMs }));
  const insisted = aborted(ending.urgent)
    .then(() => clock.sleep(limits.afterUrgentMs, signal))
    .then((): ShutdownOverdue => ({ kind: 'insisted' }));
  const abandoned = aborted(ending.abandoned).then((): ShutdownOverdue => ({ kind: 'abandoned' }));
  return Promise.race([late, insisted, abandoned]);
}

/**
 * Runs an agent that leaves its containers running when it exits. Resolves to `undefined` when a requested shutdown is
 * overdue: the work is left as it is, and the caller ends the process.
 */
export async function untilOverdue<T>(
  work: Promise<T>,
  ending: Shutdown,
  clock: Pick<Clock, 'sleep'>,
  report: (text: string) => void,
): Promise<T | undefined> {
  const over = new AbortController();
  const limits = { afterRequestedMs: () => SHUTDOWN_MS, afterUrgentMs: 0 };
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

/** A shutdown that takes longer hangs. */
const SHUTDOWN_MS = 10_000;

export function overdueText(why: ShutdownOverdue): string {
  const rest = 'the next start takes over what is left';
  return why.kind === 'late' ? `cannot end within ${why.afterMs / 1000} s, ${rest}` : `cannot end at once, ${rest}`;
}
