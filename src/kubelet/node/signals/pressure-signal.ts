import type { Quantity } from '../../../base/quantity.ts';

/** kubelet's eviction signals. */
export type PressureSignal =
  | 'memory.available'
  | 'allocatableMemory.available'
  | 'nodefs.available'
  | 'nodefs.inodesFree'
  | 'imagefs.available'
  | 'imagefs.inodesFree'
  | 'containerfs.available'
  | 'containerfs.inodesFree'
  | 'pid.available';

/** A quantity, or a fraction of the capacity between 0 and 1. */
export type ThresholdValue = { readonly quantity: Quantity } | { readonly fraction: number };

/** The node is under pressure while less than `value` is available. */
export interface PressureThreshold {
  readonly signal: PressureSignal;
  readonly value: ThresholdValue;
  /** Zero for hard thresholds. */
  readonly gracePeriodMs: number;
  /** Once an eviction is due, this much more must be available to end the pressure. */
  readonly minimumReclaim?: ThresholdValue;
}

/** Available amount and capacity, in bytes or counts. */
export interface SignalFigures {
  readonly available: bigint;
  readonly capacity: bigint;
  /** Memory only: inactive file cache, which counts as available though it is in use. */
  readonly reclaimableBytes?: number;
}

/** Signals that could not be read are missing. */
export type SignalReadings = ReadonlyMap<PressureSignal, SignalFigures>;

/** kubelet stores fractions as 32-bit floats, which shows in the result: a tenth of a disk is a few bytes more. */
export function thresholdAmount(value: ThresholdValue, capacity: bigint): bigint {
  if ('quantity' in value) return value.quantity.value();
  return BigInt(Math.trunc(Number(capacity) * Math.fround(value.fraction)));
}
