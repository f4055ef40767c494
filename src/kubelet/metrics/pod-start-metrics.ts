import type { Pod } from '../../api/generated/core-v1.ts';
import { gauge, histogram } from '../../base/metrics/declaration.ts';
import type { GaugeFamily, HistogramFamily } from '../../base/metrics/metric-family.ts';
import type { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import { parseTime } from '../../base/rfc3339.ts';
import type { Clock } from '../../host/clock.ts';
import { imageChannel } from '../images/image-channel.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import { podWatchChannel } from '../sources/pod-watch-channel.ts';
import { isTerminal } from '../status/pod-phase.ts';
import { statusChannel } from '../status/status-channel.ts';
import {
  allContainersRun,
  initContainersMs,
  isStarting,
  isStateful,
  isUnschedulable,
  NEW_POD,
  type PodStartup,
  pullingMs,
  type Starting,
  withPullFinished,
  withPullStarted,
} from './pod-startup.ts';

const BUCKETS = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
];
const MEASURED =
  'measured from pod creation timestamp to when all its containers are reported as started and observed via watch';
const SLI = histogram(
  'kubelet_pod_start_sli_duration_seconds',
  `Duration in seconds to start a pod, excluding time to pull images and run init containers, ${MEASURED}`,
  { labels: [], buckets: BUCKETS },
);
const TOTAL = histogram(
  'kubelet_pod_start_total_duration_seconds',
  `Duration in seconds to start a pod since creation, including time to pull images and run init containers, ${MEASURED}`,
  { labels: [], buckets: BUCKETS },
);
const FIRST_NETWORK_POD = gauge(
  'kubelet_first_network_pod_start_sli_duration_seconds',
  `Duration in seconds to start the first network pod, excluding time to pull images and run init containers, ${MEASURED}`,
  { stability: 'INTERNAL' },
);

export interface PodStartMetricDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly observed: (uid: string) => Pick<ObservedPod, 'containers'> | undefined;
}

/**
 * Measures the starts of pods of the API server, as kubelet's service level indicator defines them.
 * 1. A pod is measured once, when both the response to its status and the watch have shown all containers as running.
 * 2. A pod that had started before the agent saw it, or that the scheduler could not place at first, is not measured.
 */
export function observePodStarts(registry: MetricRegistry, deps: PodStartMetricDeps): () => void {
  const tracker = new PodStarts(registry, deps);
  const subscriptions = [
    podWatchChannel.subscribe(({ kind, pod }) => {
      if (kind === 'deleted') tracker.forget(pod);
      else tracker.onWatched(pod);
    }),
    statusChannel.subscribe(({ pod }) => tracker.onReported(pod)),
    imageChannel.subscribe((message) => {
      if (message.kind === 'pulling') tracker.update(message.podUid, (each) => withPullStarted(each, deps.clock.now()));
      if (message.kind === 'pulled') tracker.update(message.podUid, (each) => withPullFinished(each, deps.clock.now()));
    }),
  ];
  return () => {
    for (const unsubscribe of subscriptions) unsubscribe();
  };
}

class PodStarts {
  readonly #deps: PodStartMetricDeps;
  readonly #pods = new Map<string, PodStartup>();
  readonly #sli: HistogramFamily<never>;
  readonly #total: HistogramFamily<never>;
  readonly #firstNetworkPod: GaugeFamily<never>;
  #hasNetworkPod = false;

  constructor(registry: MetricRegistry, deps: PodStartMetricDeps) {
    this.#deps = deps;
    this.#sli = registry.histogram(SLI);
    this.#total = registry.histogram(TOTAL);
    this.#firstNetworkPod = registry.gauge(FIRST_NETWORK_POD);
  }

  forget({ metadata: { uid } }: Pod): void {
    this.#pods.delete(uid);
  }

  update(uid: string, change: (startup: Starting) => Starting): void {
    const startup = this.#pods.get(uid);
    if (startup?.kind === 'starting') this.#pods.set(uid, change(startup));
  }

  onWatched(pod: Pod): void {
    const { uid } = pod.metadata;
    const known = this.#pods.get(uid);
    if (isTerminal(pod.status?.phase) || (known && isUnschedulable(pod))) this.#pods.set(uid, { kind: 'done' });
    else if (!known) this.#pods.set(uid, isStarting(pod) && !isUnschedulable(pod) ? NEW_POD : { kind: 'done' });
    else if (known.kind === 'starting' && allContainersRun(pod)) {
      this.#pods.set(uid, { ...known, watchedMs: known.watchedMs ?? this.#deps.clock.now() });
      this.#measure(pod);
    }
  }

  onReported(pod: Pod): void {
    if (!allContainersRun(pod)) return;
    this.update(pod.metadata.uid, (startup) => ({ ...startup, isReported: true }));
    this.#measure(pod);
  }

  #measure(pod: Pod): void {
    const { uid, creationTimestamp } = pod.metadata;
    const startup = this.#pods.get(uid);
    if (startup?.kind !== 'starting' || !startup.isReported || startup.watchedMs === undefined) return;
    if (creationTimestamp === undefined) return;
    const totalMs = startup.watchedMs - parseTime(creationTimestamp);
    const sliMs = totalMs - pullingMs(startup.pulls) - initContainersMs(pod, this.#deps.observed(uid));
    this.#pods.set(uid, { kind: 'done' });
    this.#total.observe(totalMs / 1000);
    if (isStateful(pod)) return;
    this.#sli.observe(sliMs / 1000);
    if (pod.spec.hostNetwork || this.#hasNetworkPod) return;
    this.#hasNetworkPod = true;
    this.#firstNetworkPod.set(sliMs / 1000);
  }
}
