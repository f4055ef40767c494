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

export interface Counter {
  increment(labels?: Labels, by?: number): void;
}

export interface Gauge {
  set(value: number, labels?: Labels): void;
}

export interface Histogram {
  observe(value: number, labels?: Labels): void;
}

/** Reads metrics that other components keep, at each scrape. */
export type MetricSource = () => readonly Metric[] | Promise<readonly Metric[]>;

/**
 * All metrics of the agent. A metric is one declaration: `registry.counter(…)`, `gauge(…)` or `histogram(…)` returns
 * what its component updates; `source(…)` adds metrics that are computed at a scrape.
 */
export class MetricRegistry {
  readonly #sources: MetricSource[] = [];

  counter(name: string, help: string): Counter {
    const values = new SeriesMap<number>();
    this.source(() => [{ type: 'counter', name, help, samples: values.samples() }]);
    return { increment: (labels = {}, by = 1) => values.update(labels, (value = 0) => value + by) };
  }

  gauge(name: string, help: string): Gauge {
    const values = new SeriesMap<number>();
    this.source(() => [{ type: 'gauge', name, help, samples: values.samples() }]);
    return { set: (value, labels = {}) => values.update(labels, () => value) };
  }

  /** `buckets`: the upper bounds in ascending order, without `+Inf`. */
  histogram(name: string, help: string, buckets: readonly number[]): Histogram {
    const series = new SeriesMap<Omit<HistogramSeries, 'labels'>>();
    const empty = { buckets: buckets.map((bound) => [bound, 0] as const), sum: 0, count: 0 };
    this.source(() => [
      { type: 'histogram', name, help, series: series.entries().map(([labels, value]) => ({ labels, ...value })) },
    ]);
    return {
      observe: (value, labels = {}) =>
        series.update(labels, (before = empty) => ({
          buckets: before.buckets.map(([bound, count]) => [bound, value <= bound ? count + 1 : count] as const),
          sum: before.sum + value,
          count: before.count + 1,
        })),
    };
  }

  source(source: MetricSource): void {
    this.#sources.push(source);
  }

  async collect(): Promise<readonly Metric[]> {
    return (await Promise.all(this.#sources.map(async (source) => source()))).flat();
  }
}

/** Bucket bounds of which each is `factor` times the one before, as client-go's `ExponentialBuckets`. */
export function exponentialBuckets(start: number, factor: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => start * factor ** index);
}

/** One value per set of labels. */
class SeriesMap<V> {
  readonly #series = new Map<string, readonly [labels: Labels, value: V]>();

  update(labels: Labels, next: (before: V | undefined) => V): void {
    const key = JSON.stringify(Object.entries(labels));
    this.#series.set(key, [labels, next(this.#series.get(key)?.[1])]);
  }

  entries(): ReadonlyArray<readonly [labels: Labels, value: V]> {
    return [...this.#series.values()];
  }

  samples(this: SeriesMap<number>): readonly Sample[] {
    return this.entries().map(([labels, value]) => ({ labels, value }));
  }
}
