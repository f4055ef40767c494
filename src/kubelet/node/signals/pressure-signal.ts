import type { Quantity } from '../../../base/quantity.ts';

/** What an eviction would look at. */
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

/** An absolute amount, or a share of the capacity between 0 and 1. */
export type ThresholdValue = { readonly quantity: Quantity } | { readonly fraction: number };

/** The node is under pressure once less than `value` is left. */
export interface PressureThreshold {
  readonly signal: PressureSignal;
  readonly value: ThresholdValue;
  /** None for hard thresholds. */
  readonly gracePeriodMs: number;
  /** Once an eviction is due, so much more has to be free for the pressure to be over. */
  readonly minimumReclaim?: ThresholdValue;
}

/** How much of something there is and is left, in bytes or as a number. */
export interface SignalFigures {
  readonly available: bigint;
  readonly capacity: bigint;
}

/** What was found; a signal that could not be read is not there. */
export type SignalReadings = ReadonlyMap<PressureSignal, SignalFigures>;

/** kubelet keeps shares as 32-bit numbers, which shows in the result: a tenth of a disk is a few bytes more. */
export function thresholdAmount(value: ThresholdValue, capacity: bigint): bigint {
  if ('quantity' in value) return value.quantity.value();
  return BigInt(Math.trunc(Number(capacity) * Math.fround(value.fraction)));
}
