import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Metric } from '../../base/metrics/metric-registry.ts';
import { metricsText } from '../../base/metrics/metrics-text.ts';
import { acceptedEscaping, acceptsGzip } from '../../base/metrics/negotiate.ts';
import type { ServerResponse } from '../../host/network.ts';

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const compress = promisify(gzip);

/** `started`: when the process started, for scrapes without a metric of it. */
export function metricsResponse(metrics: readonly Metric[], started = startTimeSeconds(metrics)): ServerResponse {
  return page(metricsText(metrics), started, 'underscores');
}

/** The response in the encoding that the client accepts, as the Prometheus client's handler sends it. */
export async function encodedMetrics(
  metrics: readonly Metric[],
  headers: Readonly<Record<string, string>>,
  started = startTimeSeconds(metrics),
): Promise<ServerResponse> {
  return encodedPage(metricsText(metrics), headers, started);
}

/** The same for metrics that are text already. */
export async function encodedPage(
  text: string,
  headers: Readonly<Record<string, string>>,
  started: number | undefined,
): Promise<ServerResponse> {
  const response = page(text, started, acceptedEscaping(headers['accept'] ?? ''));
  if (!acceptsGzip(headers['accept-encoding'] ?? '')) return response;
  const body = await compress(text);
  return {
    ...response,
    headers: { ...response.headers, 'content-encoding': 'gzip', 'content-length': String(body.length) },
    body: once(body),
  };
}

function page(body: string, started: number | undefined, escaping: string): ServerResponse {
  const since = started === undefined ? {} : { 'process-start-time-unix': String(Math.trunc(started)) };
  return { status: 200, headers: { 'content-type': `${CONTENT_TYPE}; escaping=${escaping}`, ...since }, body };
}

async function* once(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body;
}

/** The metric `process_start_time_seconds`. */
function startTimeSeconds(metrics: readonly Metric[]): number | undefined {
  const metric = metrics.find(({ name }) => name === 'process_start_time_seconds');
  return metric?.type === 'gauge' ? metric.samples[0]?.value : undefined;
}
