import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeGuardMetrics } from './node-guard-metrics.ts';

test('nodeGuardMetrics() are absent where nothing is counted', () => {
  assert.deepEqual(nodeGuardMetrics({ preemptions: () => new Map(), shutdownTimes: () => undefined }, false), []);
});

test('nodeGuardMetrics() have preempted pods by resource, and the times of the last shutdown', () => {
  const view = {
    preemptions: () => new Map([['cpu', 2]]),
    shutdownTimes: () => ({ startMs: 1_500, endMs: undefined }),
  };
  const metrics = nodeGuardMetrics(view, true).map((metric) => [
    metric.name,
    'samples' in metric ? metric.samples : undefined,
  ]);
  assert.deepEqual(metrics, [
    ['kubelet_preemptions', [{ labels: { preemption_signal: 'cpu' }, value: 2 }]],
    ['kubelet_graceful_shutdown_start_time_seconds', [{ value: 1 }]],
    ['kubelet_graceful_shutdown_end_time_seconds', [{ value: 0 }]],
  ]);
});
