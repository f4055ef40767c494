import { MetricType } from '../../cri/generated/runtime-v1.ts';

/** A metric, and how its values are found: what is described and what is told come from the same line. */
export interface MetricRow<View> {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  /** Beside those that every metric has. */
  readonly labelKeys: readonly string[];
  values(view: View): readonly MetricValue[];
}

export interface MetricValue {
  /** For `labelKeys`, in their order. */
  readonly labels: readonly string[];
  readonly value: bigint | number;
}

/** What every metric has: kubelet's own labels of container metrics, in the order of their names. */
export const BASE_LABELS = ['container', 'id', 'image', 'name', 'namespace', 'pod'] as const;

/** CRI carries whole numbers only: seconds are cut. */
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
