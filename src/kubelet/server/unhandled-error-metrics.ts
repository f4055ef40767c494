import type { Metric, Sample } from '../../base/metrics/metric-registry.ts';
import type { UnhandledErrors } from '../../base/unhandled-errors.ts';

/** Metrics of unexpected errors, by the part of the process that they occurred in. */
export function unhandledErrorMetrics({
  counts,
  restarts,
}: Pick<UnhandledErrors, 'counts' | 'restarts'>): readonly Metric[] {
  return [
    {
      type: 'counter',
      name: 'nodelet_unhandled_errors_total',
      help: 'Number of errors that no code expected, by part',
      samples: samplesOf(counts),
    },
    {
      type: 'counter',
      name: 'nodelet_part_restarts_total',
      help: 'Number of restarts of parts that failed, by part',
      samples: samplesOf(restarts),
    },
  ];
}

function samplesOf(values: ReadonlyMap<string, number>): readonly Sample[] {
  return [...values].map(([part, value]) => ({ labels: { part }, value }));
}
