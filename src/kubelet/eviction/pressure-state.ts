import type { PressureCondition } from '../node/signals/pressure-condition.ts';
import {
  type PressureSignal,
  type PressureThreshold,
  type SignalReadings,
  thresholdAmount,
} from '../node/signals/pressure-signal.ts';

/** The state that is kept between two readings. */
export interface PressureState {
  /** The thresholds that are met, and since when. */
  readonly metSinceMs: ReadonlyMap<PressureThreshold, number>;
  /** Thresholds whose grace period is over: pods are evicted. */
  readonly due: ReadonlySet<PressureThreshold>;
  readonly lastSeenMs: ReadonlyMap<PressureCondition, number>;
  /** The node's current conditions. */
  readonly conditions: ReadonlySet<PressureCondition>;
}

export const NO_PRESSURE: PressureState = {
  metSinceMs: new Map(),
  due: new Set(),
  lastSeenMs: new Map(),
  conditions: new Set(),
};

const CONDITIONS: Readonly<Record<PressureSignal, PressureCondition>> = {
  'memory.available': 'MemoryPressure',
  'allocatableMemory.available': 'MemoryPressure',
  'nodefs.available': 'DiskPressure',
  'nodefs.inodesFree': 'DiskPressure',
  'imagefs.available': 'DiskPressure',
  'imagefs.inodesFree': 'DiskPressure',
  'containerfs.available': 'DiskPressure',
  'containerfs.inodesFree': 'DiskPressure',
  'pid.available': 'PIDPressure',
};

export interface PressurePolicy {
  readonly thresholds: readonly PressureThreshold[];
  readonly transitionMs: number;
}

/**
 * The pressure after new readings, as in kubelet's eviction manager. A condition is set as soon as a threshold is met,
 * including soft ones, and reset when none was met for the transition period. A threshold for which an eviction is due
 * counts as met until the minimum reclaim is available too.
 */
export function nextPressure(
  state: PressureState,
  readings: SignalReadings,
  { thresholds, transitionMs, nowMs }: PressurePolicy & { readonly nowMs: number },
): PressureState {
  const met = thresholds.filter(
    (each) => isMet(each, readings, false) || (state.due.has(each) && isMet(each, readings, true)),
  );
  const metSinceMs = new Map(met.map((each) => [each, state.metSinceMs.get(each) ?? nowMs]));
  const due = new Set(met.filter((each) => nowMs - (metSinceMs.get(each) ?? nowMs) >= each.gracePeriodMs));
  const lastSeenMs = new Map([...state.lastSeenMs, ...met.map(({ signal }) => [CONDITIONS[signal], nowMs] as const)]);
  const shown = [...lastSeenMs].filter(([, seenMs]) => nowMs - seenMs < transitionMs).map(([condition]) => condition);
  return { metSinceMs, due, lastSeenMs, conditions: new Set(shown) };
}

/** Whether less than the threshold is available, or, `withReclaim`, less than the threshold and its minimum reclaim. */
export function isMet(threshold: PressureThreshold, readings: SignalReadings, withReclaim: boolean): boolean {
  const { signal, value, minimumReclaim } = threshold;
  const figures = readings.get(signal);
  if (!figures) return false;
  const { available, capacity } = figures;
  const extra = withReclaim && minimumReclaim ? thresholdAmount(minimumReclaim, capacity) : 0n;
  return available < thresholdAmount(value, capacity) + extra;
}
