import { type PressureThreshold, type SignalReadings, thresholdAmount } from '../node/signals/pressure-signal.ts';
import { isOfMemory } from './effective-thresholds.ts';

/** kubelet's evictionMonitoringPeriod. */
export const CHECK_PERIOD_MS = 10_000;
const SHORTEST_MS = 250;
/** Faster than containers touch new memory on most machines. */
const BYTES_PER_MS = 2 ** 21;

/**
 * When the signals are read next. Where the kernel does not report crossed memory thresholds, sooner the less memory is
 * left above them: before it can be used up.
 */
export function checkPeriodMs(
  thresholds: readonly PressureThreshold[],
  readings: SignalReadings,
  isReported: boolean,
): number {
  if (isReported) return CHECK_PERIOD_MS;
  const periods = thresholds.filter(isOfMemory).map(({ signal, value }) => {
    const figures = readings.get(signal);
    if (!figures) return CHECK_PERIOD_MS;
    const left = Number(figures.available - thresholdAmount(value, figures.capacity));
    return left <= 0 ? CHECK_PERIOD_MS : Math.max(SHORTEST_MS, Math.floor(left / BYTES_PER_MS));
  });
  return Math.min(CHECK_PERIOD_MS, ...periods);
}
