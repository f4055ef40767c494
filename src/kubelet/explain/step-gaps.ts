import type { Step } from '../events/timeline.ts';

/** So long the work between two steps may take: looking at the pod, deciding, publishing its status. */
const THRESHOLD_MS = 100;

const ENDING_STEPS: ReadonlySet<string> = new Set(['stop container', 'stop sandbox', 'remove']);

/** A time in which no step of a pod was under way. */
export interface StepGap {
  /** The step that ended last. */
  readonly after: Step;
  readonly before: Step;
  /** Wall-clock milliseconds. */
  readonly fromMs: number;
  readonly tookMs: number;
}

/**
 * Where a starting pod was left alone for longer than `thresholdMs`: it waited for a timer, or for a container of its
 * own. What comes after the first step of its end does not count.
 */
export function startGaps(steps: readonly Step[], thresholdMs: number = THRESHOLD_MS): StepGap[] {
  const end = steps.findIndex(({ name }) => ENDING_STEPS.has(name));
  return stepGaps(end === -1 ? steps : steps.slice(0, end), thresholdMs);
}

/** Every gap that is longer than `thresholdMs`. Steps that overlap leave none; a step under way leaves none behind it. */
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

/** Wall-clock milliseconds; `Infinity` while it is under way. */
export function stepEnd({ startedMs, outcome }: Step): number {
  return outcome.kind === 'running' ? Number.POSITIVE_INFINITY : startedMs + outcome.tookMs;
}
