import { byCodePoint } from '../../base/code-point-order.ts';
import type { ServerResponse } from '../../host/network.ts';

/** One figure, or several that differ in their labels. */
export interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  readonly samples: readonly Sample[];
}

export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores';

export function metricsAnswer(metrics: readonly Metric[]): ServerResponse {
  const started = metrics.find(({ name }) => name === 'process_start_time_seconds')?.samples[0]?.value;
  const since = started === undefined ? {} : { 'process-start-time-unix': String(Math.trunc(started)) };
  return { status: 200, headers: { 'content-type': CONTENT_TYPE, ...since }, body: metricsText(metrics) };
}

/** The format that Prometheus reads, by name and labels. */
function metricsText(metrics: readonly Metric[]): string {
  const byName = metrics.filter(({ samples }) => samples.length > 0).toSorted((a, b) => byCodePoint(a.name, b.name));
  return byName
    .map(({ name, type, help, samples }) => {
      const lines = samples.map(({ labels = {}, value }) => `${name}${labelsText(labels)} ${value}\n`);
      return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.toSorted(byCodePoint).join('')}`;
    })
    .join('');
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
