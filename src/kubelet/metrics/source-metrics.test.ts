/** Metrics that are read at the scrape. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seriesOf } from '../../base/metrics/exposition.fixture.ts';
import type { Metric } from '../../base/metrics/metric-registry.ts';
import { MemoryJavaScriptEngine } from '../../host/fake/memory-javascript-engine.ts';
import { ScriptedStats } from '../stats/fake/scripted-stats.ts';
import { containerLogMetrics } from './container-log-metrics.ts';
import { claimMetrics } from './dra-metrics.ts';
import { engineMetrics } from './engine-metrics.ts';
import { nodeMetrics } from './node-metrics.ts';
import { pullRecordMetrics } from './pull-record-metrics.ts';

interface Case {
  readonly metrics: () => readonly Metric[] | Promise<readonly Metric[]>;
  readonly series: readonly string[];
}

const cases: Record<string, Case> = {
  'the node': {
    metrics: () =>
      nodeMetrics({
        nodeName: 'box',
        kubernetesVersion: 'v1.36.4',
        platform: 'linux/amd64',
        cgroupVersion: 'v2',
        features: [
          { name: 'A', stage: '', isEnabled: true },
          { name: 'B', stage: 'ALPHA', isEnabled: false },
        ],
      }),
    series: [
      'kubelet_cgroup_version 2',
      'kubelet_node_name{node="box"} 1',
      'kubernetes_build_info{git_version="v1.36.4",major="1",minor="36",platform="linux/amd64"} 1',
      'kubernetes_feature_enabled{name="A",stage=""} 1',
      'kubernetes_feature_enabled{name="B",stage="ALPHA"} 0',
    ],
  },
  'claims in use: a claim counts once for each of its drivers': {
    metrics: () => claimMetrics([['gpu', 'gpu'], ['gpu', 'nic'], []]),
    series: [
      'dra_resource_claims_in_use{driver_name="<any>"} 3',
      'dra_resource_claims_in_use{driver_name="gpu"} 2',
      'dra_resource_claims_in_use{driver_name="nic"} 1',
    ],
  },
  'claims without an API server': { metrics: () => claimMetrics(undefined), series: [] },
  'logs of containers that were measured': {
    metrics() {
      const stats = new ScriptedStats();
      const startTime = '2026-01-01T00:00:00Z';
      const container = (name: string, usedBytes?: number) => ({
        name,
        startTime,
        logs: { time: startTime, ...(usedBytes !== undefined && { usedBytes }) },
      });
      const podRef = { name: 'web', namespace: 'default', uid: 'u1' };
      const containers = [container('app', 4096), container('new')];
      stats.summaryNow = { ...stats.summaryNow, pods: [{ podRef, startTime, containers }] };
      return containerLogMetrics(stats, { deadline: () => new AbortController().signal });
    },
    series: [
      'kubelet_container_log_filesystem_used_bytes{container="app",namespace="default",pod="web",uid="u1"} 4096',
    ],
  },
  'the JavaScript engine': {
    metrics() {
      const engine = new MemoryJavaScriptEngine();
      engine.times = { activeMs: 1_500, idleMs: 60_000 };
      engine.lagMs = 2;
      return engineMetrics(engine);
    },
    series: [
      'nodelet_event_loop_active_seconds_total 1.5',
      'nodelet_event_loop_idle_seconds_total 60',
      'nodelet_event_loop_lag_seconds 0.002',
      'nodelet_heap_size_bytes{space="old_space"} 4096',
      'nodelet_heap_used_bytes{space="old_space"} 1024',
    ],
  },
  'files of image pulls': {
    metrics: () => pullRecordMetrics({ intents: 1, pulled: 7 }),
    series: ['kubelet_imagemanager_ondisk_pulledrecords 7', 'kubelet_imagemanager_ondisk_pullintents 1'],
  },
  'files of image pulls that cannot be read': { metrics: () => pullRecordMetrics(undefined), series: [] },
};

for (const [name, { metrics, series }] of Object.entries(cases))
  test(`metrics of ${name}`, async () => assert.deepEqual(seriesOf(await metrics()), series));
