/**
 * The agent's clock and timers. No other code reads a clock or sets a timer, so the whole agent runs on virtual time in
 * tests.
 */
export interface Clock {
  /** Wall-clock milliseconds since 1970. It may jump: use it for timestamps, never to measure durations. */
  now(): number;

  /** Monotonic milliseconds from an arbitrary start, for durations, deadlines and back-off. */
  monotonic(): number;

  /** Resolves after `ms` (also beyond 2³¹ ms), or rejects with the signal's reason as soon as it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;

  /** Aborts after `ms` with a `TimeoutError`. It never keeps the process alive. */
  deadline(ms: number): AbortSignal;
}
