import type { Metric, Sample } from './metric-registry.ts';

/** Kubernetes' stability levels, which start the help text of a metric. */
export type Stability = 'INTERNAL' | 'ALPHA' | 'BETA' | 'STABLE';

export type MetricType = 'counter' | 'gauge' | 'histogram';

/** One metric: all that is known of it before it has a value. */
export interface Declaration<Type extends MetricType = MetricType, Label extends string = string> {
  readonly type: Type;
  readonly name: string;
  readonly help: string;
  /** Absent: a metric outside of Kubernetes' stability framework. */
  readonly stability?: Stability | undefined;
  /** Absent: there is one series, which is shown from the start. */
  readonly labels?: readonly Label[];
  /** The Kubernetes version that deprecated the metric, `1.36.0`. */
  readonly deprecatedVersion?: string;
  /** Upper bounds of a histogram in ascending order, without `+Inf`. */
  readonly buckets?: Type extends 'histogram' ? readonly number[] : never;
}

/** A value for each label; nothing for a metric without labels. */
export type LabelArguments<Label extends string> = [Label] extends [never]
  ? []
  : [labels: Readonly<Record<Label, string>>];

/** The bounds that the Prometheus client uses when none are given: from 5 ms to 10 s. */
export const DEFAULT_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface Options<Label extends string> {
  readonly labels?: readonly Label[];
  /** Absent: `ALPHA`; `undefined`: a metric outside of the framework. */
  readonly stability?: Stability | undefined;
  readonly deprecatedVersion?: string;
}

export function counter<const Label extends string = never>(
  name: string,
  help: string,
  options: Options<Label> = {},
): Declaration<'counter', Label> {
  return { type: 'counter', name, help, stability: 'ALPHA', ...options };
}

export function gauge<const Label extends string = never>(
  name: string,
  help: string,
  options: Options<Label> = {},
): Declaration<'gauge', Label> {
  return { type: 'gauge', name, help, stability: 'ALPHA', ...options };
}

export function histogram<const Label extends string = never>(
  name: string,
  help: string,
  options: Options<Label> & { readonly buckets?: readonly number[] } = {},
): Declaration<'histogram', Label> {
  return { type: 'histogram', name, help, stability: 'ALPHA', buckets: DEFAULT_BUCKETS, ...options };
}

/** The help text as Kubernetes shows it: the stability level, the deprecation, the text. */
export function shownHelp({ help, stability, deprecatedVersion }: Declaration): string {
  const deprecated = deprecatedVersion === undefined ? '' : `(Deprecated since ${deprecatedVersion}) `;
  return stability === undefined ? help : `[${stability}] ${deprecated}${help}`;
}

/** A value of a metric that is read at the scrape. */
export type SampleOf<Label extends string> = [Label] extends [never]
  ? { readonly value: number }
  : { readonly labels: Readonly<Record<Label, string>>; readonly value: number };

/** The metric with values that are read at the scrape. */
export function sampled<Label extends string>(
  declaration: Declaration<'counter' | 'gauge', Label>,
  samples: readonly SampleOf<Label>[],
): Metric {
  const { type, name, labels = [] } = declaration;
  const sorted = labels.toSorted();
  const ordered = (sample: Sample): Sample => ({ ...sample, labels: pick(sorted, sample.labels ?? {}) });
  return { type, name, help: shownHelp(declaration), samples: samples.map((sample) => ordered(sample)) };
}

function pick(names: readonly string[], labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, labels[name] ?? '']));
}
