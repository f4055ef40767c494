import { byCodePoint } from '../code-point-order.ts';
import { goFloat } from '../go/go-float.ts';
import type { HistogramSeries, Labels, Metric } from './metric-registry.ts';

/** Prometheus' text format, ordered by name and labels. A metric without values is left out. */
export function metricsText(metrics: readonly Metric[]): string {
  return metrics
    .toSorted((a, b) => byCodePoint(a.name, b.name))
    .map((metric) => {
      const { name, type, help } = metric;
      const lines = linesOf(metric);
      return lines === '' ? '' : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines}`;
    })
    .join('');
}

function linesOf(metric: Metric): string {
  const { name } = metric;
  const lines =
    metric.type === 'histogram'
      ? metric.series.map((series) => histogramLines(name, series))
      : metric.samples.map(({ labels = {}, value, timestampMs }) => {
          const time = timestampMs === undefined ? '' : ` ${timestampMs}`;
          return `${name}${labelsText(labels)} ${goFloat(value)}${time}\n`;
        });
  return lines.toSorted(byCodePoint).join('');
}

/** Buckets in ascending order with `+Inf` last, then the sum and the count. */
function histogramLines(name: string, { labels = {}, buckets, sum, count }: HistogramSeries): string {
  const bucket = (le: string, value: number): string => `${name}_bucket${labelsText({ ...labels, le })} ${value}\n`;
  const all = buckets.map(([bound, value]) => bucket(goFloat(bound), value));
  const own = labelsText(labels);
  return `${all.join('')}${bucket('+Inf', count)}${name}_sum${own} ${sum}\n${name}_count${own} ${count}\n`;
}

function labelsText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
