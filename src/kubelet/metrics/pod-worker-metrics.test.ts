import { DEFAULT_BOUNDS, histogramSeries, testPublished } from '../../base/metrics/exposition.fixture.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { workerChannel } from '../workers/worker-channel.ts';
import { observePodWorkers } from './pod-worker-metrics.ts';

const pod = examplePod({ spec: { containers: ['a', 'b', 'c'].map((name) => ({ name, image: 'i' })) } });
const staticPod = examplePod({ metadata: { annotations: { 'kubernetes.io/config.source': 'file' } } });

testPublished('pod workers', {
  'the first sync of a pod': {
    observe: observePodWorkers,
    publish: () => workerChannel.publish({ kind: 'started', pod, waitedMs: 7 }),
    series: [
      ...histogramSeries('kubelet_containers_per_pod_count', '', ['1', '2', '4', '8', '16'], [3]),
      ...histogramSeries('kubelet_pod_worker_start_duration_seconds', '', DEFAULT_BOUNDS, [0.007]),
    ],
  },
  'passes of a worker': {
    observe: observePodWorkers,
    publish() {
      workerChannel.publish({ kind: 'ran', operation: 'create', tookMs: 250 });
      workerChannel.publish({ kind: 'ran', operation: 'sync', tookMs: 12_000 });
    },
    series: [
      ...histogramSeries('kubelet_pod_worker_duration_seconds', 'operation_type="create"', DEFAULT_BOUNDS, [0.25]),
      ...histogramSeries('kubelet_pod_worker_duration_seconds', 'operation_type="sync"', DEFAULT_BOUNDS, [12]),
    ],
  },
  'pods that start anew under their UID, and pods that no source has': {
    observe: observePodWorkers,
    publish() {
      workerChannel.publish({ kind: 'seen', pod, isRestart: false });
      workerChannel.publish({ kind: 'seen', pod: staticPod, isRestart: true });
      workerChannel.publish({ kind: 'orphanFound' });
      workerChannel.publish({ kind: 'gone', pod });
    },
    series: [
      'kubelet_orphaned_runtime_pods_total 1',
      'kubelet_restarted_pods_total{static=""} 0',
      'kubelet_restarted_pods_total{static="true"} 1',
    ],
  },
});
