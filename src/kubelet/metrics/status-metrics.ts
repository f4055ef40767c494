import type { ContainerStatus, Pod, PodStatus } from '../../api/generated/core-v1.ts';
import { counter, histogram } from '../../base/metrics/declaration.ts';
import type { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import type { Clock } from '../../host/clock.ts';
import { statusChannel } from '../status/status-channel.ts';
import { workerChannel } from '../workers/worker-channel.ts';
import type { ContainerType } from './start-metrics.ts';

const SYNC_DURATION = histogram(
  'kubelet_pod_status_sync_duration_seconds',
  'Duration in seconds to sync a pod status update. Measures time from detection of a change to pod status until the API is successfully updated for that pod, even if multiple intevening changes to pod status occur.',
  { buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60] },
);
const START_DURATION = histogram(
  'kubelet_pod_start_duration_seconds',
  'Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run',
  {
    buckets: [
      0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
    ],
  },
);
const TERMINATED = counter('kubelet_terminated_containers_total', 'Cumulative number of container terminations.', {
  labels: ['container_type', 'exit_code', 'reason'],
});

/** A container that is terminated in a status and was not in the one before. */
export interface Termination {
  readonly type: ContainerType;
  readonly exitCode: number;
  readonly reason: string;
}

/** The containers that terminated between two statuses of a pod. */
export function terminationsBetween(before: PodStatus, after: PodStatus): readonly Termination[] {
  return [
    ...newlyTerminated('init_container', before.initContainerStatuses, after.initContainerStatuses),
    ...newlyTerminated('container', before.containerStatuses, after.containerStatuses),
    ...newlyTerminated('ephemeral_container', before.ephemeralContainerStatuses, after.ephemeralContainerStatuses),
  ];
}

function newlyTerminated(
  type: ContainerType,
  before: readonly ContainerStatus[] = [],
  after: readonly ContainerStatus[] = [],
): readonly Termination[] {
  return after.flatMap(({ name, state }) => {
    const { terminated } = state ?? {};
    const known = before.find((each) => each.name === name);
    if (!terminated || known?.state?.terminated) return [];
    return [{ type, exitCode: terminated.exitCode, reason: terminated.reason ?? '' }];
  });
}

export interface StatusMetricDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Calls the listener with every new status of a pod. */
  readonly subscribe: (listener: (changed: { readonly pod: Pod; readonly status: PodStatus }) => void) => () => void;
}

/** A pod, since the agent saw it. */
interface SeenPod {
  readonly sinceMs: number;
  status: PodStatus;
}

export function observeStatuses(registry: MetricRegistry, { clock, subscribe }: StatusMetricDeps): () => void {
  const syncDuration = registry.histogram(SYNC_DURATION);
  const startDuration = registry.histogram(START_DURATION);
  const terminated = registry.counter(TERMINATED);
  const pods = new Map<string, SeenPod>();
  const subscriptions = [
    workerChannel.subscribe((message) => {
      if (message.kind === 'seen') pods.set(message.pod.metadata.uid, { sinceMs: clock.monotonic(), status: {} });
      if (message.kind === 'gone') pods.delete(message.pod.metadata.uid);
    }),
    subscribe(({ pod, status }) => {
      const seen = pods.get(pod.metadata.uid);
      if (!seen) return;
      const before = seen.status;
      seen.status = status;
      if (status.phase === 'Running' && before.phase !== 'Running') {
        startDuration.observe((clock.monotonic() - seen.sinceMs) / 1000);
      }
      for (const { type, exitCode, reason } of terminationsBetween(before, status)) {
        terminated.increment({ container_type: type, exit_code: String(exitCode), reason });
      }
    }),
    statusChannel.subscribe(({ tookMs }) => {
      if (tookMs !== undefined) syncDuration.observe(Math.trunc(tookMs) / 1000);
    }),
  ];
  return () => {
    for (const unsubscribe of subscriptions) unsubscribe();
  };
}
