import type { Step } from '../events/timeline.ts';

/** Longest time between two steps that is not a wait: observing the pod, planning, publishing its status. */
const THRESHOLD_MS = 100;

const ENDING_STEPS: ReadonlySet<Step['name']> = new Set(['stop container', 'stop sandbox', 'remove']);

/** A time without a running step of the pod. */
export interface StepGap {
  /** The step that ended last. */
  readonly after: Step;
  readonly before: Step;
  /** Wall-clock milliseconds. */
  readonly fromMs: number;
  readonly tookMs: number;
}

/**
 * Returns the gaps of a starting pod that are longer than `thresholdMs`: it waited for a timer, or for one of its
 * containers. Steps after the first step of its end do not count.
 */
export function startGaps(steps: readonly Step[], thresholdMs: number = THRESHOLD_MS): StepGap[] {
  const end = steps.findIndex(({ name }) => ENDING_STEPS.has(name));
  return stepGaps(end === -1 ? steps : steps.slice(0, end), thresholdMs);
}

/** Returns the gaps that are longer than `thresholdMs`. Overlapping steps have none; a running step has none after it. */
export function stepGaps(steps: readonly Step[], thresholdMs: number = THRESHOLD_MS): StepGap[] {
  const gaps: StepGap[] = [];
  let last: Step | undefined;
  for (const step of steps.toSorted((a, b) => a.startedMs - b.startedMs)) {
    if (last !== undefined && step.startedMs - stepEnd(last) > thresholdMs) {
      gaps.push({ after: last, before: step, fromMs: stepEnd(last), tookMs: step.startedMs - stepEnd(last) });
    }
    if (last === undefined || stepEnd(step) > stepEnd(last)) last = step;
  }
  return gaps;
}

/** Wall-clock milliseconds; `Infinity` for a running step. */
export function stepEnd({ startedMs, outcome }: Step): number {
  return outcome.kind === 'running' ? Number.POSITIVE_INFINITY : startedMs + outcome.tookMs;
}
