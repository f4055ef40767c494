import type { Clock } from '../../host/clock.ts';
import type { CheckOutcome } from './probe-handler.ts';
import { earlyCheckMs, nextProbeState, type ProbeSpec, type ProbeState } from './probe-state.ts';

/** One probe of one container, from its first check to its last. */
export interface ProbeLoop {
  readonly spec: ProbeSpec;
  readonly first: ProbeState;
  /** Milliseconds from now to the first check. */
  readonly delayMs: number;
  /** An early check is one between the beats. Rejects only with the signal's reason. */
  check(isEarly: boolean, signal: AbortSignal): Promise<CheckOutcome>;
  /** Where the probe stands after a check that told something. */
  onState(state: ProbeState): void;
}

/**
 * Checks in steady beats of the period, until there is nothing more to learn of this container. A check that takes
 * longer than a period is followed at once by one for all the beats that it missed. Before the second beat, readiness
 * is looked at more often. Rejects with the signal's reason.
 */
export async function runProbeLoop(loop: ProbeLoop, clock: Clock, signal: AbortSignal): Promise<void> {
  const { spec } = loop;
  if (loop.delayMs > 0) await clock.sleep(loop.delayMs, signal);
  const began = clock.monotonic();
  let beat = 0;
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
    if (!isEarly) beat = Math.max(beat + 1, Math.floor(passed / spec.periodMs));
    await clock.sleep(Math.max(0, (early ?? beat * spec.periodMs) - passed), signal);
  }
}
