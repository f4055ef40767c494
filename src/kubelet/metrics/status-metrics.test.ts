import assert from 'node:assert/strict';
import type { ContainerState, ContainerStatus, Pod, PodStatus } from '../../api/generated/core-v1.ts';
import { histogramSeries, testPublished } from '../../base/metrics/exposition.fixture.ts';
import { statusChannel } from '../status/status-channel.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { workerChannel } from '../workers/worker-channel.ts';
import { observeStatuses } from './status-metrics.ts';

const START_BOUNDS = '0.5 1 2 3 4 5 6 8 10 20 30 45 60 120 180 240 300 360 480 600 900 1200 1800 2700 3600'.split(' ');
const SYNC_BOUNDS = '0.01 0.05 0.1 0.5 1 5 10 20 30 45 60'.split(' ');
const pod = examplePod();
let nowMs = 0;
let changed: ((change: { readonly pod: Pod; readonly status: PodStatus }) => void) | undefined;

const observe = (registry: Parameters<typeof observeStatuses>[0]): (() => void) =>
  observeStatuses(registry, {
    clock: { monotonic: () => nowMs },
    subscribe(listener) {
      changed = listener;
      return () => undefined;
    },
  });

function status(phase: string, state: ContainerState): PodStatus {
  const container: ContainerStatus = { name: 'web', image: 'i', imageID: '', ready: false, restartCount: 0, state };
  return { phase, containerStatuses: [container], initContainerStatuses: [{ ...container, name: 'init' }] };
}

function change(next: PodStatus): void {
  assert.ok(changed);
  changed({ pod, status: next });
}

const TERMINATED = { terminated: { exitCode: 137, reason: 'OOMKilled' } };

testPublished('statuses', {
  'a pod runs for the first time since it was seen': {
    observe,
    publish() {
      workerChannel.publish({ kind: 'seen', pod, isRestart: false });
      nowMs += 2_500;
      change(status('Running', { running: {} }));
      nowMs += 2_500;
      change(status('Running', { running: {} }));
    },
    series: histogramSeries('kubelet_pod_start_duration_seconds', '', START_BOUNDS, [2.5]),
  },
  'containers that terminate are counted once': {
    observe,
    publish() {
      workerChannel.publish({ kind: 'seen', pod, isRestart: false });
      for (const each of [status('Pending', { waiting: {} }), status('Failed', TERMINATED)]) change(each);
      change(status('Failed', TERMINATED));
    },
    series: ['container', 'init_container'].map(
      (type) => `kubelet_terminated_containers_total{container_type="${type}",exit_code="137",reason="OOMKilled"} 1`,
    ),
  },
  'statuses that the API server has, in whole milliseconds': {
    observe,
    publish() {
      statusChannel.publish({ pod, tookMs: 60.7 });
      statusChannel.publish({ pod, tookMs: undefined });
    },
    series: histogramSeries('kubelet_pod_status_sync_duration_seconds', '', SYNC_BOUNDS, [0.06]),
  },
});
