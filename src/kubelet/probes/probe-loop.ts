import type { Clock } from '../../host/clock.ts';
import type { CheckOutcome } from './probe-handler.ts';
import { earlyCheckMs, nextProbeState, type ProbeSpec, type ProbeState } from './probe-state.ts';

/** One probe of one container, from its first check to its last. */
export interface ProbeLoop {
  readonly spec: ProbeSpec;
  readonly first: ProbeState;
  /** Milliseconds from now to the first check. */
  readonly delayMs: number;
  /** An early check is one between the periods. Rejects only with the signal's reason. */
  check(isEarly: boolean, signal: AbortSignal): Promise<CheckOutcome>;
  /** Called with the state after each check that had a result. */
  onState(state: ProbeState): void;
}

/**
 * Checks once per period, until the probe is on hold. A check that takes longer than a period is followed immediately by
 * one check for all missed periods. In the first period, readiness is checked more often. Rejects with the signal's
 * reason.
 */
export async function runProbeLoop(loop: ProbeLoop, clock: Clock, signal: AbortSignal): Promise<void> {
  const { spec } = loop;
  if (loop.delayMs > 0) await clock.sleep(loop.delayMs, signal);
  const began = clock.monotonic();
  let period = 0;
  let isEarly = false;
  let state = loop.first;
  for (;;) {
    const outcome = await loop.check(isEarly, signal);
    signal.throwIfAborted();
    if (outcome.kind !== 'error') {
      state = nextProbeState(state, outcome.kind === 'failure' ? 'failure' : 'success', spec);
      loop.onState(state);
    }
    if (state.phase === 'onHold') return;
    const passed = clock.monotonic() - began;
    const early = earlyCheckMs(state, spec, passed);
    isEarly = early !== undefined;
    if (!isEarly) period = Math.max(period + 1, Math.floor(passed / spec.periodMs));
    await clock.sleep(Math.max(0, (early ?? period * spec.periodMs) - passed), signal);
  }
}
