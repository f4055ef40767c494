import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import { RequestCounts } from './request-counts.ts';

test('RequestCounts labels requests as kubelet does, and unknown ones as other', async () => {
  const metrics = new MetricRegistry();
  const counts = new RequestCounts(metrics);
  const asked = ['GET /pods', 'GET /pods/', 'POST /exec/a/b/c', 'GET /metrics/resource', 'GET /metrics/x', 'FLY /x/y'];
  for (const request of asked) {
    const [method = '', path = ''] = request.split(' ');
    counts.add(method, path);
  }
  const [metric] = await metrics.collect();
  assert.equal(metric?.type, 'counter');
  assert.deepEqual(
    metric.samples.map(({ labels, value }) => [labels?.['method'], labels?.['path'], labels?.['long_running'], value]),
    [
      ['GET', 'pods', 'false', 2],
      ['POST', 'exec', 'true', 1],
      ['GET', 'metrics/resource', 'false', 1],
      ['GET', 'other', 'false', 1],
      ['other', 'other', 'false', 1],
    ],
  );
});
