import { assertNever } from '../../base/assert-never.ts';
import { counter, histogram } from '../../base/metrics/declaration.ts';
import type { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import { apiCallChannel } from '../api-client/api-call-channel.ts';

const SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const BYTES = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216];
const DURATION = histogram(
  'rest_client_request_duration_seconds',
  'Request latency in seconds. Broken down by verb, and host.',
  { labels: ['verb', 'host'], buckets: SECONDS },
);
const RATE_LIMITER = histogram(
  'rest_client_rate_limiter_duration_seconds',
  'Client side rate limiter latency in seconds. Broken down by verb, and host.',
  { labels: ['verb', 'host'], buckets: SECONDS },
);
const REQUEST_SIZE = histogram(
  'rest_client_request_size_bytes',
  'Request size in bytes. Broken down by verb and host.',
  { labels: ['verb', 'host'], buckets: BYTES },
);
const RESPONSE_SIZE = histogram(
  'rest_client_response_size_bytes',
  'Response size in bytes. Broken down by verb and host.',
  { labels: ['verb', 'host'], buckets: BYTES },
);
const REQUESTS = counter(
  'rest_client_requests_total',
  'Number of HTTP requests, partitioned by status code, method, and host.',
  { labels: ['code', 'method', 'host'] },
);
const RETRIES = counter(
  'rest_client_request_retries_total',
  'Number of request retries, partitioned by status code, verb, and host.',
  { labels: ['code', 'verb', 'host'] },
);

/** Counts the requests to the API server, under client-go's names. A watch has a result, but no duration and no size. */
export function observeApiClient(registry: MetricRegistry): () => void {
  const duration = registry.histogram(DURATION);
  const rateLimiter = registry.histogram(RATE_LIMITER);
  const requestSize = registry.histogram(REQUEST_SIZE);
  const responseSize = registry.histogram(RESPONSE_SIZE);
  const requests = registry.counter(REQUESTS);
  const retries = registry.counter(RETRIES);
  return apiCallChannel.subscribe((message) => {
    const { method, host } = message.of;
    const labels = { verb: method, host };
    switch (message.kind) {
      case 'throttled':
        return rateLimiter.observe(message.tookMs / 1000, labels);
      case 'answered':
        return requests.increment({ code: String(message.status ?? '<error>'), method, host });
      case 'retried':
        return retries.increment({ code: String(message.status), ...labels });
      case 'ended':
        duration.observe(message.tookMs / 1000, labels);
        requestSize.observe(message.requestBytes, labels);
        if (message.responseBytes !== undefined) responseSize.observe(message.responseBytes, labels);
        return;
      default:
        return assertNever(message);
    }
  });
}
