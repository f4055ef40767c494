import type { Pod } from '../../api/generated/core-v1.ts';
import type { Clock } from '../../host/clock.ts';
import type { PodEvents } from '../events/pod-events.ts';
import { specGracePeriod } from '../pod/grace-period.ts';
import type { PodFailure } from '../pod/pod-failure.ts';
import type { PodWorkers } from './pod-workers.ts';

/** As kubelet waits at least for the end of a pod. */
const MIN_WAIT_SECONDS = 10;

export interface KillPodDeps {
  readonly workers: Pick<PodWorkers, 'killAndWait'>;
  readonly events: Pick<PodEvents, 'record'>;
  readonly clock: Clock;
}

export interface PodEnding {
  /** Absent: the pod's own grace period. */
  readonly graceSeconds?: number | undefined;
  readonly failure: PodFailure;
}

/**
 * Ends a pod that is still desired, and waits until none of its containers runs. Rejects after one and a half grace periods;
 * the worker of the pod goes on to end it.
 */
export async function killPod(pod: Pod, { graceSeconds, failure }: PodEnding, deps: KillPodDeps): Promise<void> {
  const grace = graceSeconds ?? specGracePeriod(pod);
  const waited = new AbortController();
  const limitSeconds = Math.max(MIN_WAIT_SECONDS, grace + Math.floor(grace / 2));
  const late = deps.clock.sleep(limitSeconds * 1000, waited.signal).then(() => 'late' as const);
  const ended = deps.workers.killAndWait(pod.metadata.uid, { graceSeconds: grace, failure });
  try {
    if ((await Promise.race([ended, late])) !== 'late') return;
  } finally {
    waited.abort();
    late.catch(() => undefined);
  }
  const message = 'Container runtime did not kill the pod within specified grace period.';
  deps.events.record(pod, 'Warning', 'ExceededGracePeriod', message);
  throw new Error('timeout waiting to kill pod');
}
