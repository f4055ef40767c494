import type { Clock } from '../../host/clock.ts';

/** Ends a check early: its time limit is exceeded, or it is cancelled. */
export interface TimeLimit {
  /** Aborts for either reason. */
  readonly signal: AbortSignal;
  readonly ms: number;
  /** The time limit was exceeded before a cancellation. */
  isExceeded(): boolean;
}

export interface RunningTimeLimit extends TimeLimit {
  /** Ends the timer and whatever still runs of the check. */
  end(): void;
}

// Created once: a stack trace for each check would be its most expensive part.
const TIME_LIMIT_EXCEEDED = new Error('the time limit of the check is exceeded');
const OVER = new Error('the check is over');

export function startTimeLimit(ms: number, clock: Clock, signal: AbortSignal): RunningTimeLimit {
  const controller = new AbortController();
  let isExceeded = false;
  const onAbort = (): void => controller.abort(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  clock.sleep(ms, controller.signal).then(
    () => {
      isExceeded = true;
      controller.abort(TIME_LIMIT_EXCEEDED);
    },
    () => {}, // the check ended first
  );
  return {
    signal: controller.signal,
    ms,
    isExceeded: () => isExceeded,
    end: () => {
      signal.removeEventListener('abort', onAbort);
      controller.abort(OVER);
    },
  };
}

/** A limit without a time. */
export function noTimeLimit(signal: AbortSignal): TimeLimit {
  return { signal, ms: Number.POSITIVE_INFINITY, isExceeded: () => false };
}
