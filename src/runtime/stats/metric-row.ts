import { MetricType } from '../../cri/generated/runtime-v1.ts';

/** A metric with its descriptor and the function that reads its values. */
export interface MetricRow<View> {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  /** In addition to `BASE_LABELS`. */
  readonly labelKeys: readonly string[];
  values(view: View): readonly MetricValue[];
}

export interface MetricValue {
  /** Values of `labelKeys`, in the same order. */
  readonly labels: readonly string[];
  readonly value: bigint | number;
}

/** Labels of every metric: kubelet's labels of container metrics, sorted by name. */
export const BASE_LABELS = ['container', 'id', 'image', 'name', 'namespace', 'pod'] as const;

/** CRI values are integers: fractions of a second are truncated. */
export function seconds(ns: bigint): bigint {
  return ns / 1_000_000_000n;
}

type Single<View> = (view: View) => bigint | number | undefined;

export function counter<View>(name: string, help: string, value: Single<View>): MetricRow<View> {
  return single(MetricType.COUNTER, name, help, value);
}

export function gauge<View>(name: string, help: string, value: Single<View>): MetricRow<View> {
  return single(MetricType.GAUGE, name, help, value);
}

function single<View>(type: MetricType, name: string, help: string, value: Single<View>): MetricRow<View> {
  return {
    name,
    help,
    type,
    labelKeys: [],
    values: (view) => {
      const found = value(view);
      return found === undefined ? [] : [{ labels: [], value: found }];
    },
  };
}
