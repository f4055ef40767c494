import { type QosClass, qosClass } from '../../api/qos.ts';
import type { Metric } from '../../base/metrics/metric-registry.ts';
import type { AgentView } from '../explain/agent-view.ts';
import { type MemoryReservationPolicy, podMemoryRequest } from '../resources/memory-qos.ts';

/** The protected memory of all pods, under kubelet's names. `policy` is absent while the feature gate MemoryQoS is off. */
export function memoryQosMetrics(
  view: Pick<AgentView, 'pods'>,
  policy: MemoryReservationPolicy | undefined,
): readonly Metric[] {
  if (policy === undefined) return [];
  const active = view.pods().filter(({ worker }) => worker === 'syncing' || worker === 'terminating');
  const bytesOf = (qos: QosClass): number => {
    const requests = active.map(({ pod }) => (qosClass(pod) === qos ? podMemoryRequest(pod) : 0n));
    return policy === 'None' ? 0 : Number(requests.reduce((sum, each) => sum + each, 0n));
  };
  return [
    {
      name: 'kubelet_memory_qos_node_memory_min_bytes',
      type: 'gauge',
      help: '[ALPHA] Total cgroup v2 memory.min in bytes for Guaranteed pods. This memory is hard-reserved and never reclaimed by the kernel.',
      samples: [{ value: bytesOf('Guaranteed') }],
    },
    {
      name: 'kubelet_memory_qos_node_memory_low_bytes',
      type: 'gauge',
      help: '[ALPHA] Total cgroup v2 memory.low in bytes for Burstable pods. This memory is soft-reserved and may be reclaimed under extreme pressure.',
      samples: [{ value: bytesOf('Burstable') }],
    },
  ];
}
