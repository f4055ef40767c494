import type { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import type { RequestMetrics } from './request-metrics.ts';

/** The metrics that the server of the node shows. */
export interface ServedMetrics {
  /** `/metrics` */
  readonly main: Pick<MetricRegistry, 'collect'>;
  /** `/metrics/probes` */
  readonly probes: Pick<MetricRegistry, 'collect'>;
  /** `/metrics/slis`; a DELETE resets them. */
  readonly slis: Pick<MetricRegistry, 'collect' | 'reset'>;
  /** The requests of the server itself. */
  readonly requests: RequestMetrics;
}
