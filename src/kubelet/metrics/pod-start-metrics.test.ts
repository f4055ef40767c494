import type { PodSpec, PodStatus } from '../../api/generated/core-v1.ts';
import { histogramSeries, testPublished } from '../../base/metrics/exposition.fixture.ts';
import { formatTime } from '../../base/rfc3339.ts';
import { imageChannel } from '../images/image-channel.ts';
import { podWatchChannel } from '../sources/pod-watch-channel.ts';
import { statusChannel } from '../status/status-channel.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { observePodStarts } from './pod-start-metrics.ts';

const BOUNDS = '0.5 1 2 3 4 5 6 8 10 20 30 45 60 120 180 240 300 360 480 600 900 1200 1800 2700 3600'.split(' ');
const CREATED_MS = 1_800_000_000_000;
let secondsSinceCreation = 0;
const at = (seconds: number, publish: () => void): void => {
  secondsSinceCreation = seconds;
  publish();
};
const deps = { clock: { now: () => CREATED_MS + secondsSinceCreation * 1000 }, observed: () => undefined };
const observe = (registry: Parameters<typeof observePodStarts>[0]): (() => void) => observePodStarts(registry, deps);

const metadata = { creationTimestamp: formatTime(CREATED_MS) };
const startedAt = metadata.creationTimestamp;
const RUNNING: PodStatus = {
  phase: 'Running',
  containerStatuses: [
    { name: 'web', image: 'i', imageID: '', ready: true, restartCount: 0, state: { running: { startedAt } } },
  ],
};

/** A pod that is watched, pulls from second 1 to 3, runs, is reported after 4 seconds and seen after 6. */
function start(spec: Partial<PodSpec> = {}, firstStatus: PodStatus = { phase: 'Pending' }): void {
  const pod = (status: PodStatus) => ({ ...examplePod({ metadata, spec }), status });
  at(0, () => podWatchChannel.publish({ kind: 'seen', pod: pod(firstStatus) }));
  at(1, () => imageChannel.publish({ kind: 'pulling', podUid: 'u1' }));
  at(3, () => imageChannel.publish({ kind: 'pulled', podUid: 'u1', tookMs: 2_000, bytes: 0 }));
  at(4, () => statusChannel.publish({ pod: pod(RUNNING), tookMs: undefined }));
  at(6, () => podWatchChannel.publish({ kind: 'seen', pod: pod(RUNNING) }));
  at(9, () => podWatchChannel.publish({ kind: 'seen', pod: pod(RUNNING) }));
}

const total = histogramSeries('kubelet_pod_start_total_duration_seconds', '', BOUNDS, [6]);
const sli = histogramSeries('kubelet_pod_start_sli_duration_seconds', '', BOUNDS, [4]);

testPublished('starts of pods of the API server', {
  'a pod is measured once; the indicator has no pulls': {
    observe,
    publish: () => start(),
    series: ['kubelet_first_network_pod_start_sli_duration_seconds 4', ...sli, ...total],
  },
  'a pod on the host network': {
    observe,
    publish: () => start({ hostNetwork: true }),
    series: [...sli, ...total],
  },
  'a stateful pod does not count for the indicator': {
    observe,
    publish: () => start({ volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'd' } }] }),
    series: total,
  },
  'a pod that the scheduler could not place at first is not measured': {
    observe,
    publish: () => start({}, { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] }),
    series: [],
  },
  'a pod that had started before the agent is not measured': {
    observe,
    publish: () => start({}, { ...RUNNING, startTime: startedAt }),
    series: [],
  },
});
