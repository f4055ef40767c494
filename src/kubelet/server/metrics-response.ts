import type { Metric } from '../../base/metrics/metric-registry.ts';
import { metricsText } from '../../base/metrics/metrics-text.ts';
import type { ServerResponse } from '../../host/network.ts';

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores';

/** `started`: when the process started, for scrapes without a metric of it. */
export function metricsResponse(metrics: readonly Metric[], started = startTimeSeconds(metrics)): ServerResponse {
  return metricsPage(metricsText(metrics), started);
}

/** The same for metrics that are text already. */
export function metricsPage(body: string, started: number | undefined): ServerResponse {
  const since = started === undefined ? {} : { 'process-start-time-unix': String(Math.trunc(started)) };
  return { status: 200, headers: { 'content-type': CONTENT_TYPE, ...since }, body };
}

/** The metric `process_start_time_seconds`. */
export function startTimeSeconds(metrics: readonly Metric[]): number | undefined {
  const metric = metrics.find(({ name }) => name === 'process_start_time_seconds');
  return metric?.type === 'gauge' ? metric.samples[0]?.value : undefined;
}
