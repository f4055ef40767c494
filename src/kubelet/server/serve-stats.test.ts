import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { metricsText } from '../../base/metrics/metrics-text.ts';
import { ScriptedStats } from '../stats/fake/scripted-stats.ts';
import { resourceMetrics } from './resource-metrics.ts';
import { serveStats } from './serve-stats.ts';
import { volumeStatsMetrics } from './volume-stats-metrics.ts';

const never = new AbortController().signal;
const FORM = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' };

async function* chunks(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

async function ask(rawQuery: string, { method = 'GET', headers = {}, body = [] as readonly string[] } = {}) {
  const stats = new ScriptedStats();
  const request = { method, headers, rawQuery, body: chunks(...body), signal: never };
  const { status, body: text } = await serveStats(stats, request);
  return status === 200 ? { only: stats.asked } : { status, text };
}

const cases: Record<string, { given: Parameters<typeof ask>; wanted: object }> = {
  'everything by default': { given: [''], wanted: { only: [false] } },
  'CPU and memory only': { given: ['only_cpu_and_memory=true'], wanted: { only: [true] } },
  'everything for another value': { given: ['only_cpu_and_memory=1'], wanted: { only: [false] } },
  'everything for a repeated parameter': {
    given: ['only_cpu_and_memory=true&only_cpu_and_memory=true'],
    wanted: { only: [false] },
  },
  'the parameter of a form': {
    given: ['', { method: 'POST', headers: FORM, body: ['only_cpu_', 'and_memory=true'] }],
    wanted: { only: [true] },
  },
  'the parameter of a form and the query together': {
    given: ['only_cpu_and_memory=true', { method: 'POST', headers: FORM, body: ['only_cpu_and_memory=true'] }],
    wanted: { only: [false] },
  },
  'everything for a body that is not a form': {
    given: ['', { method: 'POST', body: ['only_cpu_and_memory=true'] }],
    wanted: { only: [false] },
  },
  'an error for a broken escape': {
    given: ['only_cpu_and_memory=%zz1'],
    wanted: { status: 500, text: 'Internal Error: parse form failed: invalid URL escape "%zz"' },
  },
  'an error for a semicolon': {
    given: ['a;b'],
    wanted: { status: 500, text: 'Internal Error: parse form failed: invalid semicolon separator in query' },
  },
  'an error for a form that is too large': {
    given: ['', { method: 'POST', headers: FORM, body: ['x'.repeat(10 * 1024 * 1024), 'y'] }],
    wanted: { status: 500, text: 'Internal Error: parse form failed: http: POST too large' },
  },
};

for (const [name, { given, wanted }] of Object.entries(cases)) {
  test(`/stats/summary: ${name}`, async () => assert.deepEqual(await ask(...given), wanted));
}

const TIME = '2026-11-16T18:43:57.622Z';
const MS = 1794854637622;

function scripted(): ScriptedStats {
  const stats = new ScriptedStats();
  const cpu = { time: TIME, usageCoreNanoSeconds: 19_834_740 };
  const memory = { time: TIME, workingSetBytes: 1_183_744 };
  const swap = { time: TIME, swapUsageBytes: 1, swapAvailableBytes: 2 };
  const volume = { time: TIME, name: 'v', usedBytes: 5, inodes: 9 };
  const pvcRef = { name: 'data', namespace: 'ns' };
  const pod = {
    podRef: { name: 'web', namespace: 'ns', uid: 'u1' },
    startTime: TIME,
    containers: [
      { name: 'main', startTime: TIME, cpu, memory, swap },
      { name: 'new', startTime: '1970-01-01T00:00:00Z' },
    ],
    cpu,
    volume: [volume, { ...volume, pvcRef, volumeHealthStats: { abnormal: true } }],
  };
  const second = { podRef: { ...pod.podRef, name: 'other' }, startTime: TIME, containers: [] };
  const shared = { ...second, volume: [{ ...volume, pvcRef, usedBytes: 6 }] };
  stats.summaryNow = { node: { nodeName: 'box', startTime: TIME, memory }, pods: [pod, shared] };
  return stats;
}

test('/stats/summary shows whole seconds, indented by one space', async () => {
  const stats = new ScriptedStats();
  stats.summaryNow = { node: { nodeName: 'box', startTime: TIME, memory: { time: TIME } }, pods: [] };
  const request = { method: 'GET', headers: {}, rawQuery: '', body: chunks(), signal: never };
  assert.deepEqual(await serveStats(stats, request), {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: `{
 "node": {
  "nodeName": "box",
  "startTime": "2026-11-16T18:43:57Z",
  "memory": {
   "time": "2026-11-16T18:43:57Z"
  }
 },
 "pods": []
}`,
  });
});

test('/stats/summary: an unexpected error is one of the server', async () => {
  const stats = new ScriptedStats();
  stats.error = new Error('no memory');
  const request = { method: 'GET', headers: {}, rawQuery: '', body: chunks(), signal: never };
  const { status, body } = await serveStats(stats, request);
  assert.deepEqual([status, body], [500, 'Internal Error: no memory']);
});

test('/metrics/resource has the values with the times of their readings', async () => {
  const text = metricsText(await resourceMetrics(scripted(), silentLog, never));
  const main = 'container="main",namespace="ns",pod="web"';
  assert.deepEqual(
    text.split('\n').filter((line) => line !== '' && !line.startsWith('#')),
    [
      `container_cpu_usage_seconds_total{${main}} 0.01983474 ${MS}`,
      `container_memory_working_set_bytes{${main}} 1.183744e+06 ${MS}`,
      `container_start_time_seconds{${main}} 1.7948546376220002e+09`,
      `container_swap_limit_bytes{${main}} 3 ${MS}`,
      `container_swap_usage_bytes{${main}} 1 ${MS}`,
      `node_memory_working_set_bytes 1.183744e+06 ${MS}`,
      `pod_cpu_usage_seconds_total{namespace="ns",pod="web"} 0.01983474 ${MS}`,
      'resource_scrape_error 0',
    ],
  );
  assert.ok(
    text.includes(
      '# HELP pod_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the pod in core-seconds\n',
    ),
  );
});

test('/metrics/resource reports that statistics cannot be read', async () => {
  const stats = new ScriptedStats();
  stats.error = new Error('no memory');
  const text = metricsText(await resourceMetrics(stats, silentLog, never));
  assert.deepEqual(text.split('\n').slice(1), ['# TYPE resource_scrape_error gauge', 'resource_scrape_error 1', '']);
});

test('the usage of a claim is counted once, by its name', () => {
  const labels = 'namespace="ns",persistentvolumeclaim="data"';
  assert.deepEqual(
    metricsText(volumeStatsMetrics(scripted()))
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#')),
    [
      `kubelet_volume_stats_health_status_abnormal{${labels}} 1`,
      `kubelet_volume_stats_inodes{${labels}} 9`,
      `kubelet_volume_stats_used_bytes{${labels}} 5`,
    ],
  );
});
