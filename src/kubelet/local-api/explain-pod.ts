import type { Clock } from '../../host/clock.ts';
import type { AgentView, PodReport } from '../explain/agent-view.ts';
import { sentence } from '../explain/plain-text.ts';
import { podWaits } from '../explain/pod-waits.ts';
import { why } from '../explain/why.ts';
import { ApiError } from './api-error.ts';
import { findPod, isManuallyStopped, type PodReference } from './find-pod.ts';
import type { TimelineAnswer, WhyAnswer } from './local-api-types.ts';
import { manifestErrorText } from './manifest-error-text.ts';

/** Explains the state of the pod. Throws an `ApiError` when it does not exist. */
export async function explainPod(
  view: AgentView,
  reference: PodReference,
  clock: Pick<Clock, 'now'>,
): Promise<WhyAnswer> {
  const fullDisks = await view.fullDisks();
  const report = { ...podOrManifestErrors(view, reference), startSteps: view.startSteps() };
  const [summary = '', ...reasons] = why(report, clock.now());
  // A full disk explains most other errors.
  return { pod: qualifiedName(report), sentences: [summary, ...fullDisks.map(sentence), ...reasons] };
}

/** Returns the steps and waits of the pod. Throws an `ApiError` when it does not exist. */
export function podTimeline(view: AgentView, reference: PodReference, clock: Pick<Clock, 'now'>): TimelineAnswer {
  const report = findPod(view, reference);
  const nowMs = clock.now();
  return { pod: qualifiedName(report), nowMs, steps: report.steps, waits: podWaits(report, nowMs) };
}

/** A missing pod may be in a manifest with errors: they are part of the message. */
function podOrManifestErrors(view: AgentView, reference: PodReference): PodReport {
  try {
    return findPod(view, reference);
  } catch (error) {
    const errors = view.manifests().flatMap((manifest) => manifest.errors.map((each) => [manifest.source, each]));
    const isMissing = error instanceof ApiError && error.code === 'NotFound' && !isManuallyStopped(view, reference);
    if (!isMissing || errors.length === 0) throw error;
    const list = errors.map(([source = '', text = '']) => `\n  ${manifestErrorText(source, text)}`).join('');
    const message = `${error.message}; not all of the manifests can be used:${list}`;
    throw new ApiError('NotFound', message, { cause: error });
  }
}

function qualifiedName({ pod }: PodReport): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}`;
}
