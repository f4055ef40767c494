import type { Clock } from '../../host/clock.ts';

/** What ends a check early: its time is up, or nobody wants to know any more. */
export interface TimeLimit {
  /** Aborts for either reason. */
  readonly signal: AbortSignal;
  readonly ms: number;
  /** The time was up first. */
  isExceeded(): boolean;
}

export interface RunningTimeLimit extends TimeLimit {
  /** The check is over: nothing of it is to stay. */
  end(): void;
}

// Made once: a stack for each check would be the dearest part of it.
const TIME_IS_UP = new Error('the time of the check is up');
const OVER = new Error('the check is over');

export function startTimeLimit(ms: number, clock: Clock, signal: AbortSignal): RunningTimeLimit {
  const controller = new AbortController();
  let isPassed = false;
  const onAbort = (): void => controller.abort(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  clock.sleep(ms, controller.signal).then(
    () => {
      isPassed = true;
      controller.abort(TIME_IS_UP);
    },
    () => {}, // it was over first
  );
  return {
    signal: controller.signal,
    ms,
    isExceeded: () => isPassed,
    end: () => {
      signal.removeEventListener('abort', onAbort);
      controller.abort(OVER);
    },
  };
}

/** For what may take as long as it takes. */
export function noTimeLimit(signal: AbortSignal): TimeLimit {
  return { signal, ms: Number.POSITIVE_INFINITY, isExceeded: () => false };
}
