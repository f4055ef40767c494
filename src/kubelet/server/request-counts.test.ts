import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestCounts } from './request-counts.ts';

test('RequestCounts keeps apart what kubelet does, and nothing that a client makes up', () => {
  const counts = new RequestCounts();
  const asked = ['GET /pods', 'GET /pods/', 'POST /exec/a/b/c', 'GET /metrics/resource', 'GET /metrics/x', 'FLY /x/y'];
  for (const request of asked) {
    const [method = '', path = ''] = request.split(' ');
    counts.add(method, path);
  }
  assert.deepEqual(
    counts
      .metric()
      .samples.map(({ labels, value }) => [labels?.['method'], labels?.['path'], labels?.['long_running'], value]),
    [
      ['GET', 'pods', 'false', 2],
      ['POST', 'exec', 'true', 1],
      ['GET', 'metrics/resource', 'false', 1],
      ['GET', 'other', 'false', 1],
      ['other', 'other', 'false', 1],
    ],
  );
});
