import type { Clock } from '../../src/host/clock.ts';

/** One `sleep` of the agent, on the clock of `performance.now()`. */
export interface RecordedSleep {
  readonly ms: number;
  readonly startMs: number;
  /** When it ended; absent while it lasts, and when it was cancelled. */
  readonly rangMs?: number;
}

/** The machine's clock, with a record of all sleeps. */
export interface RecordedClock extends Clock {
  readonly sleeps: readonly RecordedSleep[];
  /** Shifts the clock forward, for reads and for sleeps. */
  leap(ms: number): void;
}

export function recordedClock(clock: Clock): RecordedClock {
  const sleeps: RecordedSleep[] = [];
  let leaptMs = 0;
  let leap = new AbortController();
  const monotonic = (): number => clock.monotonic() + leaptMs;

  async function sleepThroughLeaps(ms: number, signal: AbortSignal): Promise<void> {
    const untilMs = monotonic() + ms;
    for (let leftMs = ms; leftMs > 0 || leftMs === ms; leftMs = untilMs - monotonic()) {
      const { signal: leaping } = leap;
      try {
        return await clock.sleep(leftMs, AbortSignal.any([signal, leaping]));
      } catch (error) {
        if (signal.aborted || !leaping.aborted) throw error;
      }
    }
  }

  return {
    ...clock,
    sleeps,
    monotonic,
    leap(ms) {
      leaptMs += ms;
      leap.abort();
      leap = new AbortController();
    },
    async sleep(ms, signal) {
      const place = sleeps.push({ ms, startMs: performance.now() }) - 1;
      await sleepThroughLeaps(ms, signal);
      sleeps[place] = { ms, startMs: sleeps[place]?.startMs ?? Number.NaN, rangMs: performance.now() };
    },
  };
}
