import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metricsText } from '../../base/metrics/metrics-text.ts';
import { startStepMetrics } from './start-step-metrics.ts';

test('the durations of start steps are a histogram for each step', () => {
  const buckets = [
    [0.1, 2],
    [1, 3],
  ] as const;
  const metrics = startStepMetrics({ startSteps: () => [{ step: 'sandbox', buckets, sumSeconds: 2.5, count: 4 }] });
  assert.equal(
    metricsText(metrics),
    [
      '# HELP nodelet_pod_start_step_duration_seconds [ALPHA] Duration in seconds of a step of a starting pod, by step. Steps that failed are not counted.',
      '# TYPE nodelet_pod_start_step_duration_seconds histogram',
      'nodelet_pod_start_step_duration_seconds_bucket{step="sandbox",le="0.1"} 2',
      'nodelet_pod_start_step_duration_seconds_bucket{step="sandbox",le="1"} 3',
      'nodelet_pod_start_step_duration_seconds_bucket{step="sandbox",le="+Inf"} 4',
      'nodelet_pod_start_step_duration_seconds_sum{step="sandbox"} 2.5',
      'nodelet_pod_start_step_duration_seconds_count{step="sandbox"} 4',
      '',
    ].join('\n'),
  );
});

test('no metric is shown before a pod has started', () => {
  assert.deepEqual(startStepMetrics({ startSteps: () => [] }), []);
});
