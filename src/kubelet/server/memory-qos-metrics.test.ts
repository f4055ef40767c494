import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodReport } from '../explain/agent-view.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { memoryQosMetrics } from './memory-qos-metrics.ts';

function report(memory: string, limits: Record<string, string>, worker: PodReport['worker'] = 'syncing'): PodReport {
  const pod = examplePod({ container: { resources: { requests: { ...limits, memory }, limits } } });
  return { pod, worker, status: {}, observed: undefined, steps: [], events: [] };
}

const pods = [
  report('1Ki', { cpu: '1', memory: '1Ki' }),
  report('2Ki', {}),
  report('4Ki', {}, 'terminating'),
  report('8Ki', {}, 'finished'),
];

test('memoryQosMetrics() sums the requests of pods that have a cgroup', () => {
  const values = (policy: Parameters<typeof memoryQosMetrics>[1]) =>
    memoryQosMetrics({ pods: () => pods }, policy).map((metric) => [
      metric.name,
      metric.type === 'gauge' ? metric.samples[0]?.value : undefined,
    ]);
  const [min, low] = ['kubelet_memory_qos_node_memory_min_bytes', 'kubelet_memory_qos_node_memory_low_bytes'];
  assert.deepEqual(values(undefined), []);
  assert.deepEqual(values('None'), [
    [min, 0],
    [low, 0],
  ]);
  assert.deepEqual(values('TieredReservation'), [
    [min, 1024],
    [low, 6144],
  ]);
});
