import { byCodePoint } from '../../base/code-point-order.ts';
import { goFloat } from '../../base/go/go-float.ts';
import { inBraces, labelPair, metricHeader } from '../../base/metrics/metrics-text.ts';
import type { PageMetric, PageValue } from './metric-table.ts';

/** What a page shows metrics of, with the labels that all of its metrics have. */
export interface Subject<View> {
  readonly view: View;
  /** Label names and values. */
  readonly labels: Readonly<Record<string, string>>;
  /** Wall-clock milliseconds of the reading. */
  readonly timeMs: number;
}

/** The text of one metric, without those that have no values. */
export interface MetricText {
  readonly name: string;
  readonly text: string;
}

/** Metrics in the order of their names. */
export function pageText(metrics: readonly MetricText[]): string {
  return metrics
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ text }) => text)
    .join('');
}

/**
 * Metrics of subjects in Prometheus' text format, where some ten thousand lines are the rule: the labels of a subject are
 * written once. The subjects have the same label names and are in the order of their labels' values.
 */
export function subjectTexts<View>(
  metrics: readonly PageMetric<View>[],
  subjects: readonly Subject<View>[],
): readonly MetricText[] {
  const written = subjects.map(writtenSubject);
  return metrics.flatMap((metric) => {
    const lines = metric.labelNames.length === 0 ? plainLines(metric, written) : labelledLines(metric, written);
    return lines === '' ? [] : [metricText(metric, lines)];
  });
}

/** A metric with at most one value and constant labels. */
export function metricText(metric: Pick<PageMetric<never>, 'name' | 'type' | 'help'>, lines: string): MetricText {
  return { name: metric.name, text: `${metricHeader(metric)}${lines}` };
}

interface WrittenSubject<View> {
  readonly view: View;
  /** `{container="x",id="/"}`, or nothing. */
  readonly labels: string;
  /** Each of them, in the order of their names. */
  readonly pairs: ReadonlyArray<readonly [name: string, text: string]>;
  readonly time: string;
}

function writtenSubject<View>({ view, labels, timeMs }: Subject<View>): WrittenSubject<View> {
  const pairs = Object.entries(labels)
    .toSorted(([a], [b]) => byCodePoint(a, b))
    .map(([name, value]) => [name, labelPair(name, value)] as const);
  return { view, pairs, labels: inBraces(pairs.map(([, text]) => text)), time: ` ${timeMs}` };
}

function plainLines<View>(metric: PageMetric<View>, subjects: readonly WrittenSubject<View>[]): string {
  let lines = '';
  for (const { view, labels, time } of subjects)
    for (const { value } of metric.values(view))
      lines += `${metric.name}${labels} ${goFloat(value)}${metric.isTimed ? time : ''}\n`;
  return lines;
}

function labelledLines<View>(metric: PageMetric<View>, subjects: readonly WrittenSubject<View>[]): string {
  return subjects
    .flatMap(({ view, pairs, time }) =>
      metric
        .values(view)
        .map(
          (each) =>
            `${metric.name}${withLabels(pairs, metric.labelNames, each)} ${goFloat(each.value)}${metric.isTimed ? time : ''}\n`,
        ),
    )
    .sort()
    .join('');
}

/** All labels in the order of their names. */
function withLabels(
  pairs: WrittenSubject<unknown>['pairs'],
  names: readonly string[],
  { labels = [] }: PageValue,
): string {
  const own = names.map((name, index) => [name, labelPair(name, labels[index] ?? '')] as const);
  const all = [...pairs, ...own].sort(([a], [b]) => (a < b ? -1 : 1));
  return inBraces(all.map(([, text]) => text));
}

/** `{container="x",pod="y"}` in the order of the names; nothing without labels. */
export function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).toSorted(([a], [b]) => byCodePoint(a, b));
  return inBraces(pairs.map(([name, value]) => labelPair(name, value)));
}
