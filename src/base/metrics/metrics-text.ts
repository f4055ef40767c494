import { byCodePoint } from '../code-point-order.ts';
import { goFloat } from '../go/go-float.ts';
import type { HistogramSeries, Labels, Metric } from './metric-registry.ts';

/** Prometheus' text format, ordered by name and labels. A metric without values is left out. */
export function metricsText(metrics: readonly Metric[]): string {
  return metrics
    .toSorted((a, b) => byCodePoint(a.name, b.name))
    .map((metric) => {
      const lines = linesOf(metric);
      return lines === '' ? '' : `${metricHeader(metric)}${lines}`;
    })
    .join('');
}

/** The lines before the values of a metric. */
export function metricHeader({ name, type, help }: Pick<Metric, 'name' | 'help'> & { readonly type: string }): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
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
  return inBraces(Object.entries(labels).map(([name, value]) => labelPair(name, value)));
}

/** `{container="x",pod="y"}`; nothing without pairs. */
export function inBraces(pairs: readonly string[]): string {
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/** `container="x"` */
export function labelPair(name: string, value: string): string {
  return `${name}="${/[\\"\n]/.test(value) ? escaped(value) : value}"`;
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
