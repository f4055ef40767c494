import type { Pod } from '../../api/generated/core-v1.ts';
import { assertNever } from '../../base/assert-never.ts';
import { counter } from '../../base/metrics/declaration.ts';
import type { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import { startChannel } from '../sync/start-channel.ts';

const PODS = counter('kubelet_started_pods_total', 'Cumulative number of pods started');
const POD_ERRORS = counter('kubelet_started_pods_errors_total', 'Cumulative number of errors when starting pods');
const USER_NAMESPACED = counter(
  'kubelet_started_user_namespaced_pods_total',
  'Cumulative number of pods with user namespaces started. This metric will only be collected on Linux.',
);
const USER_NAMESPACED_ERRORS = counter(
  'kubelet_started_user_namespaced_pods_errors_total',
  'Cumulative number of errors when starting pods with user namespaces. This metric will only be collected on Linux.',
);
const CONTAINERS = counter('kubelet_started_containers_total', 'Cumulative number of containers started', {
  labels: ['container_type'],
});
const CONTAINER_ERRORS = counter(
  'kubelet_started_containers_errors_total',
  'Cumulative number of errors when starting containers',
  { labels: ['container_type', 'code'] },
);
const IMAGE_VOLUMES = counter('kubelet_image_volume_requested_total', 'Number of requested image volumes.', {
  stability: 'BETA',
});
const IMAGE_VOLUMES_MOUNTED = counter(
  'kubelet_image_volume_mounted_succeed_total',
  'Number of successful image volume mounts.',
  { stability: 'BETA' },
);
const IMAGE_VOLUME_ERRORS = counter(
  'kubelet_image_volume_mounted_errors_total',
  'Number of failed image volume mounts.',
  { stability: 'BETA' },
);

export type ContainerType = 'container' | 'init_container' | 'ephemeral_container';

export function containerType({ spec }: Pod, name: string): ContainerType {
  if (spec.initContainers?.some((each) => each.name === name)) return 'init_container';
  return spec.ephemeralContainers?.some((each) => each.name === name) ? 'ephemeral_container' : 'container';
}

export function observeStarts(registry: MetricRegistry): () => void {
  const pods = registry.counter(PODS);
  const podErrors = registry.counter(POD_ERRORS);
  const userNamespaced = registry.counter(USER_NAMESPACED);
  const userNamespacedErrors = registry.counter(USER_NAMESPACED_ERRORS);
  const containers = registry.counter(CONTAINERS);
  const containerErrors = registry.counter(CONTAINER_ERRORS);
  const imageVolumes = registry.counter(IMAGE_VOLUMES);
  const imageVolumesMounted = registry.counter(IMAGE_VOLUMES_MOUNTED);
  const imageVolumeErrors = registry.counter(IMAGE_VOLUME_ERRORS);

  return startChannel.subscribe((message) => {
    switch (message.kind) {
      case 'sandboxStarting':
        pods.increment();
        if (message.pod.spec.hostUsers === false) userNamespaced.increment();
        return;
      case 'sandboxFailed':
        podErrors.increment();
        if (message.pod.spec.hostUsers === false) userNamespacedErrors.increment();
        return;
      case 'containerStarting':
        return containers.increment({ container_type: containerType(message.pod, message.container) });
      case 'containerFailed': {
        const { pod, container, code } = message;
        return containerErrors.increment({ container_type: containerType(pod, container), code });
      }
      case 'imageVolumesRequested':
        return imageVolumes.add(message.count);
      case 'imageVolumesMounted':
        return imageVolumesMounted.add(message.count);
      case 'imageVolumesFailed':
        return imageVolumeErrors.add(message.count);
      default:
        return assertNever(message);
    }
  });
}
