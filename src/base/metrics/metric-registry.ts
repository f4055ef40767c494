import { counter, type Declaration, sampled } from './declaration.ts';
import { CounterFamily, GaugeFamily, HistogramFamily } from './metric-family.ts';

export type Labels = Readonly<Record<string, string>>;

/** A metric as one scrape finds it. */
export type Metric =
  | {
      readonly type: 'counter' | 'gauge';
      readonly name: string;
      readonly help: string;
      /** One value, or several that differ in their labels. */
      readonly samples: readonly Sample[];
    }
  | {
      readonly type: 'histogram';
      readonly name: string;
      readonly help: string;
      readonly series: readonly HistogramSeries[];
    };

export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
  /** Wall-clock milliseconds of the reading; absent: the time of the scrape. */
  readonly timestampMs?: number;
}

/** The observations of a histogram under one set of labels. */
export interface HistogramSeries {
  readonly labels?: Labels;
  /** Upper bounds in ascending order, each with the number of observations up to it. Without `+Inf`. */
  readonly buckets: ReadonlyArray<readonly [upperBound: number, count: number]>;
  readonly sum: number;
  readonly count: number;
}

/** Reads metrics that other components keep, at each scrape. */
export type MetricSource = () => readonly Metric[] | Promise<readonly Metric[]>;

const REGISTERED = counter(
  'registered_metrics_total',
  'The count of registered metrics broken by stability level and deprecation version.',
  { labels: ['stability_level', 'deprecated_version'], stability: 'BETA' },
);
const HIDDEN = counter('hidden_metrics_total', 'The count of hidden metrics.', { stability: 'BETA' });

export interface RegistryOptions {
  /** The Kubernetes version of this program, `v1.36.4`. */
  readonly version?: string;
  /** A previous minor version whose deprecated metrics are shown, `1.35`; absent: none. */
  readonly showHiddenFor?: string | undefined;
}

/**
 * All metrics of one endpoint. A metric is one declaration: `counter`, `gauge` and `histogram` return what is updated;
 * `source` adds metrics that are computed at a scrape. A metric that a previous minor version deprecated is hidden: it can
 * be updated, and is not shown.
 */
export class MetricRegistry {
  readonly #sources: MetricSource[] = [];
  readonly #declared: Declaration[] = [];
  readonly #families: { reset(): void }[] = [];
  readonly #options: RegistryOptions;

  constructor(options: RegistryOptions = {}) {
    this.#options = options;
  }

  counter<Label extends string>(declaration: Declaration<'counter', Label>): CounterFamily<Label> {
    return this.#add(declaration, new CounterFamily(declaration));
  }

  gauge<Label extends string>(declaration: Declaration<'gauge', Label>): GaugeFamily<Label> {
    return this.#add(declaration, new GaugeFamily(declaration));
  }

  histogram<Label extends string>(declaration: Declaration<'histogram', Label>): HistogramFamily<Label> {
    return this.#add(declaration, new HistogramFamily(declaration));
  }

  /** `declarations`: the metrics that the source returns. */
  source(source: MetricSource, declarations: readonly Declaration[] = []): void {
    this.#declared.push(...declarations);
    this.#sources.push(source);
  }

  get declared(): readonly Declaration[] {
    return this.#declared;
  }

  /** Declared metrics that are not shown. */
  get hidden(): readonly Declaration[] {
    return this.#declared.filter((declaration) => isHidden(declaration, this.#options));
  }

  /** Shows how many metrics are declared and hidden, as Kubernetes' registry does of itself. */
  addCounts(): void {
    this.source(() => {
      const registered = Map.groupBy(
        this.#declared.filter(({ stability }) => stability !== undefined),
        ({ stability = 'ALPHA', deprecatedVersion = '' }) => `${stability} ${deprecatedVersion}`,
      );
      const samples = [...registered].map(([key, { length: value }]) => {
        const [stability_level = '', deprecated_version = ''] = key.split(' ');
        return { labels: { stability_level, deprecated_version }, value };
      });
      return [sampled(REGISTERED, samples), sampled(HIDDEN, [{ value: this.hidden.length }])];
    }, [REGISTERED, HIDDEN]);
  }

  /** Drops the series of all metrics that have labels, except those of sources. */
  reset(): void {
    for (const family of this.#families) family.reset();
  }

  async collect(): Promise<readonly Metric[]> {
    return (await Promise.all(this.#sources.map(async (source) => source()))).flat();
  }

  #add<F extends { collect(): Metric; reset(): void }>(declaration: Declaration, family: F): F {
    this.#declared.push(declaration);
    this.#families.push(family);
    if (!isHidden(declaration, this.#options)) this.#sources.push(() => [family.collect()]);
    return family;
  }
}

/** A deprecated metric is hidden from the minor version after the one that deprecated it. */
function isHidden({ deprecatedVersion }: Declaration, { version, showHiddenFor }: RegistryOptions): boolean {
  if (deprecatedVersion === undefined || version === undefined) return false;
  const age = minorOf(version) - minorOf(deprecatedVersion);
  return age > 0 && !(age === 1 && showHiddenFor !== undefined && minorOf(showHiddenFor) === minorOf(version) - 1);
}

function minorOf(version: string): number {
  return Number(/^v?\d+\.(\d+)/.exec(version)?.[1] ?? 0);
}

/** Bucket bounds of which each is `factor` times the one before, as client-go's `ExponentialBuckets`. */
export function exponentialBuckets(start: number, factor: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => start * factor ** index);
}
