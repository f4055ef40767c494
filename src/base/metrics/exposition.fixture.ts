import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { type Metric, MetricRegistry } from './metric-registry.ts';
import { metricsText } from './metrics-text.ts';

/** What a component publishes, and the series of all metrics that change by it. */
export interface PublishedCase {
  readonly observe: (registry: MetricRegistry) => () => void;
  readonly publish: () => unknown;
  readonly series: readonly string[];
}

/** Tests that the exposition has exactly these series, in its order. */
export function testPublished(what: string, cases: Readonly<Record<string, PublishedCase>>): void {
  for (const [name, { observe, publish, series }] of Object.entries(cases)) {
    test(`${what}: ${name}`, async (t) => {
      const registry = new MetricRegistry();
      t.after(observe(registry));
      const before = await registry.collect();
      await publish();
      const isChanged = (metric: Metric): boolean =>
        !isDeepStrictEqual(
          metric,
          before.find((each) => each.name === metric.name),
        );
      const after = await registry.collect();
      assert.deepEqual(seriesOf(after.filter(isChanged)), series);
    });
  }
}

/** The lines of the exposition that have values. */
export function seriesOf(metrics: readonly Metric[]): string[] {
  return metricsText(metrics)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
}

/** The lines of one series of a histogram with these bounds (as the exposition writes them) and observations. */
export function histogramSeries(
  name: string,
  labels: string,
  bounds: readonly string[],
  observed: readonly number[],
): string[] {
  const upTo = (bound: number): number => observed.filter((value) => value <= bound).length;
  const own = labels === '' ? '' : `{${labels}}`;
  const bucket = (le: string, count: number): string => {
    const all = labels === '' ? `le="${le}"` : `${labels},le="${le}"`;
    return `${name}_bucket{${all}} ${count}`;
  };
  return [
    ...bounds.map((bound) => bucket(bound, upTo(Number(bound)))),
    bucket('+Inf', observed.length),
    `${name}_sum${own} ${observed.reduce((sum, value) => sum + value, 0)}`,
    `${name}_count${own} ${observed.length}`,
  ];
}

/** The bounds of histograms that name none. */
export const DEFAULT_BOUNDS = ['0.005', '0.01', '0.025', '0.05', '0.1', '0.25', '0.5', '1', '2.5', '5', '10'];
