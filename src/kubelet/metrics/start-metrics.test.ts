import { testPublished } from '../../base/metrics/exposition.fixture.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { startChannel } from '../sync/start-channel.ts';
import { observeStarts } from './start-metrics.ts';

const pod = examplePod({
  spec: {
    initContainers: [{ name: 'init', image: 'i' }],
    containers: [{ name: 'app', image: 'i' }],
    ephemeralContainers: [{ name: 'debug', image: 'i' }],
  },
});
const userNamespaced = examplePod({ spec: { hostUsers: false } });

testPublished('starts', {
  'pods, with user namespaces and without': {
    observe: observeStarts,
    publish() {
      for (const each of [pod, userNamespaced]) startChannel.publish({ kind: 'sandboxStarting', pod: each });
      startChannel.publish({ kind: 'sandboxFailed', pod: userNamespaced });
    },
    series: [
      'kubelet_started_pods_errors_total 1',
      'kubelet_started_pods_total 2',
      'kubelet_started_user_namespaced_pods_errors_total 1',
      'kubelet_started_user_namespaced_pods_total 1',
    ],
  },
  'containers by type': {
    observe: observeStarts,
    publish() {
      for (const container of ['init', 'app', 'app', 'debug'])
        startChannel.publish({ kind: 'containerStarting', pod, container });
      startChannel.publish({ kind: 'containerFailed', pod, container: 'app', code: 'ErrImagePull' });
    },
    series: [
      'kubelet_started_containers_errors_total{code="ErrImagePull",container_type="container"} 1',
      'kubelet_started_containers_total{container_type="container"} 2',
      'kubelet_started_containers_total{container_type="ephemeral_container"} 1',
      'kubelet_started_containers_total{container_type="init_container"} 1',
    ],
  },
  'image volumes': {
    observe: observeStarts,
    publish() {
      startChannel.publish({ kind: 'imageVolumesRequested', count: 3 });
      startChannel.publish({ kind: 'imageVolumesMounted', count: 2 });
      startChannel.publish({ kind: 'imageVolumesFailed', count: 1 });
    },
    series: [
      'kubelet_image_volume_mounted_errors_total 1',
      'kubelet_image_volume_mounted_succeed_total 2',
      'kubelet_image_volume_requested_total 3',
    ],
  },
});
