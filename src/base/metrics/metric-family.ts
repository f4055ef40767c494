import { type Declaration, type LabelArguments, shownHelp } from './declaration.ts';
import type { HistogramSeries, Labels, Metric, Sample } from './metric-registry.ts';

/** A metric that counts up. */
export class CounterFamily<Label extends string> {
  readonly #series: SeriesMap<{ value: number }>;

  constructor(declaration: Declaration<'counter', Label>) {
    this.#series = new SeriesMap(declaration, () => ({ value: 0 }));
  }

  increment(...labels: LabelArguments<Label>): void {
    this.#series.at(labels[0]).value++;
  }

  add(by: number, ...labels: LabelArguments<Label>): void {
    this.#series.at(labels[0]).value += by;
  }

  /** Drops the series with these values of some labels: what they counted is gone. */
  forget(labels: Readonly<Partial<Record<Label, string>>>): void {
    this.#series.forget(labels);
  }

  reset(): void {
    this.#series.reset();
  }

  /** Shows the series with its value, 0 if nothing was counted yet. */
  show(...labels: LabelArguments<Label>): void {
    this.#series.at(labels[0]);
  }

  collect(): Metric {
    const { name, help, samples } = this.#series.read(({ value }) => ({ value }));
    return { type: 'counter', name, help, samples };
  }
}

/** A metric with a value that its component sets. */
export class GaugeFamily<Label extends string> {
  readonly #series: SeriesMap<{ value: number }>;

  constructor(declaration: Declaration<'gauge', Label>) {
    this.#series = new SeriesMap(declaration, () => ({ value: 0 }));
  }

  set(value: number, ...labels: LabelArguments<Label>): void {
    this.#series.at(labels[0]).value = value;
  }

  add(by: number, ...labels: LabelArguments<Label>): void {
    this.#series.at(labels[0]).value += by;
  }

  reset(): void {
    this.#series.reset();
  }

  collect(): Metric {
    const { name, help, samples } = this.#series.read(({ value }) => ({ value }));
    return { type: 'gauge', name, help, samples };
  }
}

interface Observations {
  /** Per bucket, not cumulative; the last one is above all bounds. */
  readonly counts: number[];
  sum: number;
}

/** A metric that counts observations in buckets. */
export class HistogramFamily<Label extends string> {
  readonly #series: SeriesMap<Observations>;
  readonly #bounds: readonly number[];

  constructor(declaration: Declaration<'histogram', Label>) {
    const bounds = declaration.buckets ?? [];
    this.#bounds = bounds;
    this.#series = new SeriesMap(declaration, () => ({ counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 }));
  }

  observe(value: number, ...labels: LabelArguments<Label>): void {
    const series = this.#series.at(labels[0]);
    const found = this.#bounds.findIndex((bound) => value <= bound);
    const index = found === -1 ? this.#bounds.length : found;
    series.counts[index] = (series.counts[index] ?? 0) + 1;
    series.sum += value;
  }

  /** Drops the series with these values of some labels: what they measured is gone. */
  forget(labels: Readonly<Partial<Record<Label, string>>>): void {
    this.#series.forget(labels);
  }

  reset(): void {
    this.#series.reset();
  }

  collect(): Metric {
    const { name, help, samples } = this.#series.read((each) => this.#shown(each));
    return { type: 'histogram', name, help, series: samples };
  }

  #shown({ counts, sum }: Observations): Omit<HistogramSeries, 'labels'> {
    let count = 0;
    const buckets = this.#bounds.map((bound, index) => {
      count += counts[index] ?? 0;
      return [bound, count] as const;
    });
    return { buckets, sum, count: count + (counts.at(-1) ?? 0) };
  }
}

/** The series of one metric. Label values are compared in the order of their names. */
class SeriesMap<State> {
  readonly #declaration: Declaration;
  readonly #names: readonly string[];
  readonly #create: () => State;
  readonly #series = new Map<string, { readonly labels: Labels; readonly state: State }>();

  constructor(declaration: Declaration, create: () => State) {
    this.#declaration = declaration;
    this.#names = (declaration.labels ?? []).toSorted();
    this.#create = create;
    if (declaration.labels === undefined) this.at(undefined);
  }

  at(labels: Labels | undefined): State {
    let key = '';
    if (labels) for (const name of this.#names) key += `${labels[name]}\0`;
    const known = this.#series.get(key);
    if (known) return known.state;
    const ordered = Object.fromEntries(this.#names.map((name) => [name, labels?.[name] ?? '']));
    const added = { labels: ordered, state: this.#create() };
    this.#series.set(key, added);
    return added.state;
  }

  forget(labels: Readonly<Partial<Record<string, string>>>): void {
    const wanted = Object.entries(labels);
    for (const [key, series] of this.#series)
      if (wanted.every(([name, value]) => series.labels[name] === value)) this.#series.delete(key);
  }

  /** Drops all series. A metric without labels keeps its value, as in Kubernetes' registry. */
  reset(): void {
    if (this.#declaration.labels !== undefined) this.#series.clear();
  }

  read<T extends object>(
    show: (state: State) => T,
  ): { readonly name: string; readonly help: string; readonly samples: readonly (T & Pick<Sample, 'labels'>)[] } {
    const samples = [...this.#series.values()].map(({ labels, state }) => ({ labels, ...show(state) }));
    return { name: this.#declaration.name, help: shownHelp(this.#declaration), samples };
  }
}
