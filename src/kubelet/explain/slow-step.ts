import type { StartStep, StartStepName } from '../events/start-steps.ts';
import type { Step } from '../events/timeline.ts';
import type { PodReport } from './agent-view.ts';
import type { Finding } from './finding.ts';
import { durationText, sentence } from './plain-text.ts';
import { stepNoun } from './step-phrases.ts';

/** Fewer steps in the last hour do not say what is usual. */
const MIN_COUNT = 10;
/** How many times longer than nine of ten such steps a slow step takes. */
const FACTOR = 3;
/** Shorter steps are never called slow. */
const MIN_SLOW_MS = 1000;

/** Their time depends on the image, on other pods or on the pod itself, and says nothing about the node. */
const INCOMPARABLE: ReadonlySet<StartStepName> = new Set(['image', 'preemption', 'postStart hook']);

/** What a step usually takes on this node. */
export interface UsualTime {
  readonly p50Ms: number;
  readonly p90Ms: number;
}

/** Returns what the step usually takes on this node, if `tookMs` is much longer; `undefined`: it is not, or that is unknown. */
export function slowStep(name: Step['name'], tookMs: number, startSteps: readonly StartStep[]): UsualTime | undefined {
  const { step, lastHour } = startSteps.find((each) => each.step === name) ?? {};
  if (step === undefined || lastHour === undefined || INCOMPARABLE.has(step) || lastHour.count < MIN_COUNT) return;
  const { p50Ms, p90Ms } = lastHour;
  return tookMs >= Math.max(MIN_SLOW_MS, p90Ms * FACTOR) ? { p50Ms, p90Ms } : undefined;
}

/** A slow step of longer ago is of no interest any more. */
const RECENT_MS = 300_000;

/** Steps of the last minutes that took much longer than usual, though they are done. */
export function slowSteps({ steps, startSteps = [] }: PodReport, nowMs: number): Finding[] {
  return steps.flatMap((step): Finding[] => {
    const { name, outcome, startedMs } = step;
    if (outcome.kind !== 'done' || startedMs < nowMs - RECENT_MS) return [];
    const usual = slowStep(name, outcome.tookMs, startSteps);
    if (!usual) return [];
    const took = sentence(`${stepNoun(step)} took ${durationText(outcome.tookMs)}`);
    return [{ kind: 'note', summary: `${stepNoun(step)} was slow`, sentences: [took, usualText(usual)] }];
  });
}

export function usualText({ p50Ms, p90Ms }: UsualTime): string {
  return `On this node that usually takes ${durationText(p50Ms)}, and nine of ten times at most ${durationText(p90Ms)}.`;
}
