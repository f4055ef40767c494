import type { Pod } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { PodFailure } from '../pod/pod-failure.ts';
import { groupByPriority, type ShutdownGroup, type ShutdownPeriod } from './shutdown-groups.ts';

const TERMINATED: PodFailure = {
  phase: 'Failed',
  reason: 'Terminated',
  message: 'Pod was terminated in response to imminent node shutdown.',
  disruption: true,
};

export interface EndPodsDeps {
  /** Ends a pod with this status; resolves when none of its containers runs. */
  readonly kill: (pod: Pod, ending: { readonly graceSeconds: number; readonly failure: PodFailure }) => Promise<void>;
  /** Resolves when the volumes of an ended pod are unmounted. */
  readonly released: (pod: Pod) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Ends pods group by group, the lowest priority first. A group that does not end in its time is left to its workers, and the
 * next one follows. An abort skips the groups that are left.
 */
export async function endPods(
  periods: readonly ShutdownPeriod[],
  pods: readonly Pod[],
  deps: EndPodsDeps,
  signal: AbortSignal,
): Promise<void> {
  for (const group of groupByPriority(periods, pods)) {
    if (signal.aborted) return;
    if (group.pods.length > 0) await endGroup(group, deps, signal);
  }
}

async function endGroup({ pods, seconds, priority }: ShutdownGroup, deps: EndPodsDeps, signal: AbortSignal) {
  const { clock, log } = deps;
  const over = new AbortController();
  const ended = Promise.all(pods.map((pod) => endPod(pod, seconds, deps))).then(() => 'ended' as const);
  const late = clock.sleep(seconds * 1000, AbortSignal.any([signal, over.signal])).then(
    () => 'late' as const,
    () => 'skipped' as const,
  );
  const outcome = await Promise.race([ended, late]);
  over.abort();
  if (outcome === 'late') log.warn('pods did not end within the time of their priority', { priority, seconds });
}

/** Never rejects. The volumes are unmounted before the next group ends: its pods may be CSI drivers. */
async function endPod(pod: Pod, seconds: number, { kill, released, log }: EndPodsDeps): Promise<void> {
  const { namespace, name } = pod.metadata;
  const graceSeconds = Math.min(seconds, pod.spec.terminationGracePeriodSeconds ?? seconds);
  log.info('ending a pod for the shutdown of the node', { pod: `${namespace}/${name}`, graceSeconds });
  try {
    await kill(pod, { graceSeconds, failure: TERMINATED });
    await released(pod);
  } catch (error) {
    log.warn('cannot end a pod for the shutdown of the node', { pod: `${namespace}/${name}`, error: errorText(error) });
  }
}
