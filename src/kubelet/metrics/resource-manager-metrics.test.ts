import { histogramSeries, testPublished } from '../../base/metrics/exposition.fixture.ts';
import { placementChannel } from '../topology/placement-channel.ts';
import { CPU_DECLARATIONS, cpuMetrics, observePlacements } from './resource-manager-metrics.ts';

const BOUNDS = '0.05 0.1 0.2 0.4 0.8 1.6 3.2 6.4 12.8 25.6 51.2 102.4 204.8 409.6 819.2'.split(' ');
let usage: Parameters<typeof cpuMetrics>[0];

testPublished('resource managers', {
  'admissions by the topology manager': {
    observe: observePlacements,
    publish() {
      placementChannel.publish({ kind: 'placed', isRejected: false, tookMs: 0.5 });
      placementChannel.publish({ kind: 'placed', isRejected: true, tookMs: 2 });
    },
    series: [
      ...histogramSeries('kubelet_topology_manager_admission_duration_ms', '', BOUNDS, [0.5, 2]),
      'kubelet_topology_manager_admission_errors_total 1',
      'kubelet_topology_manager_admission_requests_total 2',
    ],
  },
  alignments: {
    observe: observePlacements,
    publish() {
      placementChannel.publish({ kind: 'alignedToNumaNode', scope: 'pod', isAligned: true });
      placementChannel.publish({ kind: 'alignedToCores', isAligned: true });
      placementChannel.publish({ kind: 'alignedToCores', isAligned: false });
    },
    series: [
      'kubelet_container_aligned_compute_resources_count{boundary="numa_node",scope="pod"} 1',
      'kubelet_container_aligned_compute_resources_count{boundary="physical_cpu",scope="container"} 1',
      'kubelet_container_aligned_compute_resources_failure_count{boundary="physical_cpu",scope="container"} 1',
    ],
  },
  'pinned CPUs and memory': {
    observe: observePlacements,
    publish() {
      for (const kind of ['cpusRequested', 'cpusRequested', 'cpusFailed', 'memoryRequested', 'memoryFailed'] as const)
        placementChannel.publish({ kind });
    },
    series: [
      'kubelet_cpu_manager_pinning_errors_total 1',
      'kubelet_cpu_manager_pinning_requests_total 2',
      'kubelet_memory_manager_pinning_errors_total 1',
      'kubelet_memory_manager_pinning_requests_total 1',
    ],
  },
  'the CPUs of the static policy': {
    observe(registry) {
      registry.source(() => cpuMetrics(usage), CPU_DECLARATIONS);
      return () => undefined;
    },
    publish() {
      usage = { shared: 6, exclusive: 2, byNumaNode: new Map([[0, 2]]), takesWholeCores: false };
    },
    series: [
      'kubelet_cpu_manager_allocation_per_numa{numa_node="0"} 2',
      'kubelet_cpu_manager_exclusive_cpu_allocation_count 2',
      'kubelet_cpu_manager_shared_pool_size_millicores 6000',
    ],
  },
});
