import type { Clock } from '../../host/clock.ts';
import { podWaits } from '../explain/pod-waits.ts';
import { why } from '../explain/why.ts';
import type { AgentView, PodReport } from './agent-view.ts';
import { findPod, type PodReference } from './find-pod.ts';
import type { TimelineAnswer, WhyAnswer } from './local-api-types.ts';

/** Why the pod is where it is. Throws an `ApiError` when it is not there. */
export function explainPod(view: AgentView, reference: PodReference, clock: Pick<Clock, 'now'>): WhyAnswer {
  const report = findPod(view, reference);
  return { pod: nameOf(report), sentences: why(report, clock.now()) };
}

/** What was done for the pod, and when. Throws an `ApiError` when it is not there. */
export function podTimeline(view: AgentView, reference: PodReference, clock: Pick<Clock, 'now'>): TimelineAnswer {
  const report = findPod(view, reference);
  const nowMs = clock.now();
  return { pod: nameOf(report), nowMs, steps: report.steps, waits: podWaits(report, nowMs) };
}

function nameOf({ pod }: PodReport): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}`;
}
