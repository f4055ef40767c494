import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import { metricsText } from '../../base/metrics/metrics-text.ts';
import { RequestMetrics } from './request-metrics.ts';

async function shown(metrics: MetricRegistry, name: string): Promise<readonly string[]> {
  const lines = metricsText(await metrics.collect()).split('\n');
  return lines.filter((line) => line.startsWith(`${name}{`)).map((line) => line.slice(name.length));
}

test('RequestMetrics labels requests as kubelet does, and unknown ones as other', async () => {
  const metrics = new MetricRegistry();
  const requests = new RequestMetrics(metrics, { monotonic: () => 0 });
  const asked = ['GET /pods', 'GET /pods/', 'POST /exec/a/b/c', 'GET /metrics/resource', 'GET /metrics/x', 'FLY /x/y'];
  for (const request of asked) {
    const [method = '', path = ''] = request.split(' ');
    requests.begin(method, path, 'readwrite');
  }
  assert.deepEqual(await shown(metrics, 'kubelet_http_requests_total'), [
    '{long_running="false",method="GET",path="metrics/resource",server_type="readwrite"} 1',
    '{long_running="false",method="GET",path="other",server_type="readwrite"} 1',
    '{long_running="false",method="GET",path="pods",server_type="readwrite"} 2',
    '{long_running="false",method="other",path="other",server_type="readwrite"} 1',
    '{long_running="true",method="POST",path="exec",server_type="readwrite"} 1',
  ]);
});

test('RequestMetrics measures a request and shows it while it is served', async () => {
  const metrics = new MetricRegistry();
  let nowMs = 1000;
  const requests = new RequestMetrics(metrics, { monotonic: () => nowMs });
  const end = requests.begin('GET', '/pods', 'readwrite');
  const series = '{long_running="false",method="GET",path="pods",server_type="readwrite"}';
  assert.deepEqual(await shown(metrics, 'kubelet_http_inflight_requests'), [`${series} 1`]);
  nowMs += 250;
  end();
  assert.deepEqual(await shown(metrics, 'kubelet_http_inflight_requests'), [`${series} 0`]);
  assert.deepEqual(await shown(metrics, 'kubelet_http_requests_duration_seconds_sum'), [`${series} 0.25`]);
});
