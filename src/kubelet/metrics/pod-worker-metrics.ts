import { isStaticPod } from '../../api/pod-names.ts';
import { assertNever } from '../../base/assert-never.ts';
import { counter, histogram } from '../../base/metrics/declaration.ts';
import { exponentialBuckets, type MetricRegistry } from '../../base/metrics/metric-registry.ts';
import { workerChannel } from '../workers/worker-channel.ts';

const DURATION = histogram(
  'kubelet_pod_worker_duration_seconds',
  'Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync',
  { labels: ['operation_type'] },
);
const START_DURATION = histogram(
  'kubelet_pod_worker_start_duration_seconds',
  'Duration in seconds from kubelet seeing a pod to starting a worker.',
);
const CONTAINERS = histogram('kubelet_containers_per_pod_count', 'The number of containers per pod.', {
  buckets: exponentialBuckets(1, 2, 5),
});
const ORPHANS = counter(
  'kubelet_orphaned_runtime_pods_total',
  'Number of pods that have been detected in the container runtime without being already known to the pod worker. This typically indicates the kubelet was restarted while a pod was force deleted in the API or in the local configuration, which is unusual.',
);
const RESTARTS = counter(
  'kubelet_restarted_pods_total',
  'Number of pods that have been restarted because they were deleted and recreated with the same UID while the kubelet was watching them (common for static pods, extremely uncommon for API pods)',
  { labels: ['static'] },
);

export function observePodWorkers(registry: MetricRegistry): () => void {
  const duration = registry.histogram(DURATION);
  const startDuration = registry.histogram(START_DURATION);
  const containers = registry.histogram(CONTAINERS);
  const orphans = registry.counter(ORPHANS);
  const restarts = registry.counter(RESTARTS);
  restarts.show({ static: '' });
  restarts.show({ static: 'true' });
  return workerChannel.subscribe((message) => {
    switch (message.kind) {
      case 'seen':
        if (message.isRestart) restarts.increment({ static: isStaticPod(message.pod) ? 'true' : '' });
        return;
      case 'started':
        startDuration.observe(message.waitedMs / 1000);
        containers.observe(message.pod.spec.containers.length);
        return;
      case 'ran':
        return duration.observe(message.tookMs / 1000, { operation_type: message.operation });
      case 'gone':
        return;
      case 'orphanFound':
        return orphans.increment();
      default:
        return assertNever(message);
    }
  });
}
