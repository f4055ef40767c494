/** A metric of the page: how it is named, and how its values are read from what it describes. */
export interface PageMetric<View> {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  /** Names of labels in addition to those of the view. */
  readonly labelNames: readonly string[];
  /** Shown with the time of the reading. */
  readonly isTimed: boolean;
  readonly values: (view: View) => readonly PageValue[];
}

export interface PageValue {
  /** Values of `labelNames`, in the same order; absent: there are none. */
  readonly labels?: readonly string[];
  readonly value: number;
}

type Read<View> = (view: View) => number | undefined;

export function gauge<View>(name: string, help: string, read: Read<View>): PageMetric<View> {
  return { name, type: 'gauge', help, labelNames: [], isTimed: true, values: single(read) };
}

export function counter<View>(name: string, help: string, read: Read<View>): PageMetric<View> {
  return { name, type: 'counter', help, labelNames: [], isTimed: true, values: single(read) };
}

/** A gauge without the time of the reading. */
export function untimedGauge<View>(name: string, help: string, read: Read<View>): PageMetric<View> {
  return { ...gauge(name, help, read), isTimed: false };
}

export function labelled<View>(
  metric: Pick<PageMetric<View>, 'name' | 'type' | 'help' | 'labelNames' | 'values'>,
): PageMetric<View> {
  return { ...metric, isTimed: true };
}

/** An absent value is not shown. */
function single<View>(read: Read<View>): PageMetric<View>['values'] {
  return (view) => {
    const value = read(view);
    return value === undefined ? [] : [{ value }];
  };
}

export function seconds(ns: bigint): number {
  return Number(ns) / 1e9;
}
