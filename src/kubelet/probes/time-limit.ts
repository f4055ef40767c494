import type { Clock } from '../../host/clock.ts';

/** What ends a check early: its time is up, or nobody wants to know any more. */
export interface TimeLimit {
  /** Aborts for either reason. */
  readonly signal: AbortSignal;
  readonly ms: number;
  /** The time was up first. */
  isPassed(): boolean;
}

export function timeLimit(ms: number, clock: Clock, signal: AbortSignal): TimeLimit {
  const deadline = clock.deadline(ms);
  const either = AbortSignal.any([signal, deadline]);
  return { signal: either, ms, isPassed: () => either.aborted && !signal.aborted };
}
