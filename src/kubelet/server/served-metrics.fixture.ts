import { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import { RequestMetrics } from './request-metrics.ts';
import type { ServedMetrics } from './served-metrics.ts';

/** Registries with nothing but the metrics of requests. */
export function emptyMetrics(): ServedMetrics & { readonly main: MetricRegistry; readonly slis: MetricRegistry } {
  const main = new MetricRegistry();
  const requests = new RequestMetrics(main, { monotonic: () => 0 });
  return { main, probes: new MetricRegistry(), slis: new MetricRegistry(), requests };
}
