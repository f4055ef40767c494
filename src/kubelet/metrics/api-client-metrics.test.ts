import { histogramSeries, testPublished } from '../../base/metrics/exposition.fixture.ts';
import { apiCallChannel } from '../api-client/api-call-channel.ts';
import { observeApiClient } from './api-client-metrics.ts';

const of = { method: 'GET', host: '10.0.0.1:6443' };
const LABELS = 'host="10.0.0.1:6443",verb="GET"';
const SECONDS = ['0.005', '0.025', '0.1', '0.25', '0.5', '1', '2', '4', '8', '15', '30', '60'];
const BYTES = '64 256 512 1024 4096 16384 65536 262144 1.048576e+06 4.194304e+06 1.6777216e+07'.split(' ');

testPublished('requests to the API server', {
  'a response': {
    observe: observeApiClient,
    publish: () => apiCallChannel.publish({ kind: 'answered', of, status: 200 }),
    series: ['rest_client_requests_total{code="200",host="10.0.0.1:6443",method="GET"} 1'],
  },
  'no response': {
    observe: observeApiClient,
    publish: () => apiCallChannel.publish({ kind: 'answered', of, status: undefined }),
    series: ['rest_client_requests_total{code="<error>",host="10.0.0.1:6443",method="GET"} 1'],
  },
  'a wait for the rate limit': {
    observe: observeApiClient,
    publish: () => apiCallChannel.publish({ kind: 'throttled', of, tookMs: 300 }),
    series: histogramSeries('rest_client_rate_limiter_duration_seconds', LABELS, SECONDS, [0.3]),
  },
  'a request that is sent again': {
    observe: observeApiClient,
    publish: () => apiCallChannel.publish({ kind: 'retried', of, status: 429 }),
    series: [`rest_client_request_retries_total{code="429",${LABELS}} 1`],
  },
  'whole responses, and a request that failed': {
    observe: observeApiClient,
    publish() {
      apiCallChannel.publish({ kind: 'ended', of, tookMs: 25, requestBytes: 0, responseBytes: 2_000_000 });
      apiCallChannel.publish({ kind: 'ended', of, tookMs: 90_000, requestBytes: 65, responseBytes: undefined });
    },
    series: [
      ...histogramSeries('rest_client_request_duration_seconds', LABELS, SECONDS, [0.025, 90]),
      ...histogramSeries('rest_client_request_size_bytes', LABELS, BYTES, [0, 65]),
      ...histogramSeries('rest_client_response_size_bytes', LABELS, BYTES, [2_000_000]),
    ],
  },
});
