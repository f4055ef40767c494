import type { Clock } from '../../src/host/clock.ts';

/** One `sleep` of the agent, on the clock of `performance.now()`. */
export interface RecordedSleep {
  readonly ms: number;
  readonly startMs: number;
  /** When it rang; absent while it lasts, and when it was given up. */
  readonly rangMs?: number;
}

/** The machine's time, and a record of whoever waits for it. */
export interface RecordedClock extends Clock {
  readonly sleeps: readonly RecordedSleep[];
}

export function recordedClock(clock: Clock): RecordedClock {
  const sleeps: RecordedSleep[] = [];
  return {
    ...clock,
    sleeps,
    async sleep(ms, signal) {
      const place = sleeps.push({ ms, startMs: performance.now() }) - 1;
      await clock.sleep(ms, signal);
      sleeps[place] = { ms, startMs: sleeps[place]?.startMs ?? Number.NaN, rangMs: performance.now() };
    },
  };
}
