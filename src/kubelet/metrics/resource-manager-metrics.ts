import { assertNever } from '../../base/assert-never.ts';
import { counter, gauge, histogram, sampled } from '../../base/metrics/declaration.ts';
import { exponentialBuckets, type Metric, type MetricRegistry } from '../../base/metrics/metric-registry.ts';
import type { CpuUsage } from '../cpu-manager/cpu-manager.ts';
import { placementChannel } from '../topology/placement-channel.ts';

const ADMISSIONS = counter(
  'kubelet_topology_manager_admission_requests_total',
  'The number of admission requests where resources have to be aligned.',
);
const ADMISSION_ERRORS = counter(
  'kubelet_topology_manager_admission_errors_total',
  'The number of admission request failures where resources could not be aligned.',
);
const ADMISSION_DURATION = histogram(
  'kubelet_topology_manager_admission_duration_ms',
  'Duration in milliseconds to serve a pod admission request.',
  { buckets: exponentialBuckets(0.05, 2, 15) },
);
const ALIGNED = counter(
  'kubelet_container_aligned_compute_resources_count',
  'Cumulative number of aligned compute resources allocated to containers by alignment type.',
  { labels: ['scope', 'boundary'] },
);
const MISALIGNED = counter(
  'kubelet_container_aligned_compute_resources_failure_count',
  'Cumulative number of failures to allocate aligned compute resources to containers by alignment type.',
  { labels: ['scope', 'boundary'] },
);
const CPU_REQUESTS = counter(
  'kubelet_cpu_manager_pinning_requests_total',
  'The number of cpu core allocations which required pinning.',
);
const CPU_ERRORS = counter(
  'kubelet_cpu_manager_pinning_errors_total',
  'The number of cpu core allocations which required pinning failed.',
);
const MEMORY_REQUESTS = counter(
  'kubelet_memory_manager_pinning_requests_total',
  'The number of memory pages allocations which required pinning.',
);
const MEMORY_ERRORS = counter(
  'kubelet_memory_manager_pinning_errors_total',
  'The number of memory pages allocations which required pinning that failed.',
);
const SHARED_CPUS = gauge(
  'kubelet_cpu_manager_shared_pool_size_millicores',
  'The size of the shared CPU pool for non-guaranteed QoS pods, in millicores.',
);
const EXCLUSIVE_CPUS = gauge(
  'kubelet_cpu_manager_exclusive_cpu_allocation_count',
  'The total number of CPUs exclusively allocated to containers running on this node',
);
const CPUS_PER_NUMA_NODE = gauge('kubelet_cpu_manager_allocation_per_numa', 'Number of CPUs allocated per NUMA node', {
  labels: ['numa_node'],
});

export const CPU_DECLARATIONS = [SHARED_CPUS, EXCLUSIVE_CPUS, CPUS_PER_NUMA_NODE];

/** The CPUs as the static policy assigns them; as in kubelet, zeros without it. */
export function cpuMetrics(usage: CpuUsage | undefined): readonly Metric[] {
  return [
    sampled(SHARED_CPUS, [{ value: (usage?.shared ?? 0) * 1000 }]),
    sampled(EXCLUSIVE_CPUS, [{ value: usage?.exclusive ?? 0 }]),
    sampled(
      CPUS_PER_NUMA_NODE,
      [...(usage?.byNumaNode ?? [])].map(([node, value]) => ({ labels: { numa_node: String(node) }, value })),
    ),
  ];
}

export function observePlacements(registry: MetricRegistry): () => void {
  const admissions = registry.counter(ADMISSIONS);
  const admissionErrors = registry.counter(ADMISSION_ERRORS);
  const admissionDuration = registry.histogram(ADMISSION_DURATION);
  const aligned = registry.counter(ALIGNED);
  const misaligned = registry.counter(MISALIGNED);
  const pinning = {
    cpusRequested: registry.counter(CPU_REQUESTS),
    cpusFailed: registry.counter(CPU_ERRORS),
    memoryRequested: registry.counter(MEMORY_REQUESTS),
    memoryFailed: registry.counter(MEMORY_ERRORS),
  };
  return placementChannel.subscribe((message) => {
    switch (message.kind) {
      case 'placed':
        admissions.increment();
        if (message.isRejected) admissionErrors.increment();
        return admissionDuration.observe(message.tookMs);
      case 'alignedToNumaNode':
        return (message.isAligned ? aligned : misaligned).increment({ scope: message.scope, boundary: 'numa_node' });
      case 'alignedToCores':
        return (message.isAligned ? aligned : misaligned).increment({ scope: 'container', boundary: 'physical_cpu' });
      case 'cpusRequested':
      case 'cpusFailed':
      case 'memoryRequested':
      case 'memoryFailed':
        return pinning[message.kind].increment();
      default:
        return assertNever(message);
    }
  });
}
