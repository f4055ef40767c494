import type { Metric } from '../../base/metrics/metric-registry.ts';
import type { AgentView } from '../explain/agent-view.ts';

/** How long the steps of starting pods took, as one histogram for each step that was done. */
export function startStepMetrics(view: Pick<AgentView, 'startSteps'>): readonly Metric[] {
  const steps = view.startSteps();
  if (steps.length === 0) return [];
  return [
    {
      name: 'nodelet_pod_start_step_duration_seconds',
      type: 'histogram',
      help: '[ALPHA] Duration in seconds of a step of a starting pod, by step. Steps that failed are not counted.',
      series: steps.map(({ step, buckets, sumSeconds, count }) => ({
        labels: { step },
        buckets,
        sum: sumSeconds,
        count,
      })),
    },
  ];
}
