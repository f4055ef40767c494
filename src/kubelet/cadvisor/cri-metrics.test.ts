import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { Metric, MetricDescriptor, MetricType, PodSandboxMetrics } from '../../cri/generated/runtime-v1.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { CriMetrics } from './cri-metrics.ts';
import { pageText } from './metrics-page.ts';

const never = new AbortController().signal;
const CPU = MetricDescriptor.create({ name: 'cpu_total', help: 'CPU.', labelKeys: ['pod', 'container'] });
const DESCRIBED = [CPU, MetricDescriptor.create({ name: 'idle', help: 'Idle.', labelKeys: [] })];

function cpu(change: Partial<Metric> = {}): Metric {
  const value = { value: 7n };
  return Metric.create({
    name: 'cpu_total',
    metricType: MetricType.COUNTER,
    labelValues: ['web', 'main'],
    value,
    ...change,
  });
}

const HEAD = ['# HELP cpu_total [INTERNAL] CPU.', '# TYPE cpu_total counter'];

const cases: Record<string, { metrics: readonly Metric[]; lines: readonly string[] }> = {
  'a counter with its labels in order': {
    metrics: [cpu()],
    lines: [...HEAD, 'cpu_total{container="main",pod="web"} 7'],
  },
  'the time of a reading that the runtime kept': {
    metrics: [cpu({ timestamp: 1_700_000_000_123_456_789n })],
    lines: [...HEAD, 'cpu_total{container="main",pod="web"} 7 1700000000123'],
  },
  'several series in order': {
    metrics: [cpu({ labelValues: ['web', 'side'] }), cpu()],
    lines: [...HEAD, 'cpu_total{container="main",pod="web"} 7', 'cpu_total{container="side",pod="web"} 7'],
  },
  'nothing that is not described': { metrics: [cpu({ name: 'other' })], lines: [] },
  'nothing with other labels than described': { metrics: [cpu({ labelValues: ['web'] })], lines: [] },
};

for (const [name, { metrics, lines }] of Object.entries(cases)) {
  test(`metrics of the runtime: ${name}`, async () => {
    const podMetrics = [PodSandboxMetrics.create({ podSandboxId: 's1', metrics: [...metrics] })];
    const runtime = {
      listMetricDescriptors: async () => ({ descriptors: DESCRIBED }),
      listPodSandboxMetrics: async () => ({ podMetrics }),
    };
    const texts = await new CriMetrics({ runtime, clock: new VirtualClock(), log: silentLog }).texts(never);
    assert.equal(pageText(texts), lines.map((line) => `${line}\n`).join(''));
  });
}

test('metrics of a runtime that fails are missing, and asked for again', async () => {
  let asked = 0;
  const runtime = {
    listMetricDescriptors: async () => {
      asked += 1;
      if (asked === 1) throw new Error('unavailable');
      return { descriptors: DESCRIBED };
    },
    listPodSandboxMetrics: async () => ({ podMetrics: [PodSandboxMetrics.create({ metrics: [cpu()] })] }),
  };
  const metrics = new CriMetrics({ runtime, clock: new VirtualClock(), log: silentLog });
  assert.deepEqual(await metrics.texts(never), []);
  assert.equal((await metrics.texts(never)).length, 1);
});
