import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counter, type Declaration, gauge, histogram } from './declaration.ts';
import { exponentialBuckets, MetricRegistry } from './metric-registry.ts';
import { metricsText } from './metrics-text.ts';

/** The metric without a stability level. */
function plain<D extends Declaration>({ stability: _, ...declaration }: D): Omit<D, 'stability'> {
  return declaration;
}

const PULLS = plain(counter('pulls_total', 'Pulls.', { labels: ['result'] }));

const cases: Record<string, { declare: (metrics: MetricRegistry) => void; text: readonly string[] }> = {
  'a metric without values': { declare: (metrics) => metrics.counter(PULLS), text: [] },
  'a counter with labels, in the order of the labels': {
    declare: (metrics) => {
      const pulls = metrics.counter(PULLS);
      pulls.increment({ result: 'ok' });
      pulls.add(2, { result: 'a "bad"\n\\one' });
      pulls.increment({ result: 'ok' });
    },
    text: [
      '# HELP pulls_total Pulls.',
      '# TYPE pulls_total counter',
      'pulls_total{result="a \\"bad\\"\\n\\\\one"} 2',
      'pulls_total{result="ok"} 2',
    ],
  },
  'a gauge with its last value': {
    declare: (metrics) => {
      const pods = metrics.gauge(plain(gauge('pods', 'Pods.')));
      pods.set(3);
      pods.set(1.5);
    },
    text: ['# HELP pods Pods.', '# TYPE pods gauge', 'pods 1.5'],
  },
  'a histogram with cumulative buckets in ascending order': {
    declare: (metrics) => {
      const starts = metrics.histogram(plain(histogram('start_seconds', 'Starts.', { buckets: [0.005, 0.5, 5, 10] })));
      for (const seconds of [0.005, 0.25, 7, 60]) starts.observe(seconds);
    },
    text: [
      '# HELP start_seconds Starts.',
      '# TYPE start_seconds histogram',
      'start_seconds_bucket{le="0.005"} 1',
      'start_seconds_bucket{le="0.5"} 2',
      'start_seconds_bucket{le="5"} 2',
      'start_seconds_bucket{le="10"} 3',
      'start_seconds_bucket{le="+Inf"} 4',
      'start_seconds_sum 67.255',
      'start_seconds_count 4',
    ],
  },
  'a histogram with labels, one series after the other': {
    declare: (metrics) => {
      const sizes = metrics.histogram(plain(histogram('size_bytes', 'Sizes.', { labels: ['kind'], buckets: [1000] })));
      sizes.observe(2000, { kind: 'pull' });
      sizes.observe(1, { kind: 'exec' });
    },
    text: [
      '# HELP size_bytes Sizes.',
      '# TYPE size_bytes histogram',
      'size_bytes_bucket{kind="exec",le="1000"} 1',
      'size_bytes_bucket{kind="exec",le="+Inf"} 1',
      'size_bytes_sum{kind="exec"} 1',
      'size_bytes_count{kind="exec"} 1',
      'size_bytes_bucket{kind="pull",le="1000"} 0',
      'size_bytes_bucket{kind="pull",le="+Inf"} 1',
      'size_bytes_sum{kind="pull"} 2000',
      'size_bytes_count{kind="pull"} 1',
    ],
  },
  'bounds as Go writes them': {
    declare: (metrics) =>
      metrics
        .histogram(plain(histogram('h', 'H.', { buckets: [0.00001, 0.0001, 100_000, 1_000_000, 2.5e6] })))
        .observe(0),
    text: [
      '# HELP h H.',
      '# TYPE h histogram',
      'h_bucket{le="1e-05"} 1',
      'h_bucket{le="0.0001"} 1',
      'h_bucket{le="100000"} 1',
      'h_bucket{le="1e+06"} 1',
      'h_bucket{le="2.5e+06"} 1',
      'h_bucket{le="+Inf"} 1',
      'h_sum 0',
      'h_count 1',
    ],
  },
  'metrics in the order of their names': {
    declare: (metrics) => {
      metrics.gauge(plain(gauge('b', 'B.'))).set(1);
      metrics.source(async () => [{ type: 'gauge', name: 'a', help: 'A.', samples: [{ value: 2 }] }]);
    },
    text: ['# HELP a A.', '# TYPE a gauge', 'a 2', '# HELP b B.', '# TYPE b gauge', 'b 1'],
  },
};

for (const [name, { declare, text }] of Object.entries(cases)) {
  test(`metricsText() of ${name}`, async () => {
    const metrics = new MetricRegistry();
    declare(metrics);
    assert.equal(metricsText(await metrics.collect()), text.map((line) => `${line}\n`).join(''));
  });
}

test('exponentialBuckets() multiplies by the factor', () =>
  assert.deepEqual(exponentialBuckets(1, 2, 4), [1, 2, 4, 8]));
