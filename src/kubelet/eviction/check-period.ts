import { type PressureThreshold, type SignalReadings, thresholdAmount } from '../node/signals/pressure-signal.ts';
import { isOfMemory } from './effective-thresholds.ts';

/** kubelet's evictionMonitoringPeriod. */
export const CHECK_PERIOD_MS = 10_000;
const SHORTEST_MS = 250;
/** Faster than containers touch new memory on most machines. */
const BYTES_PER_MS = 2 ** 21;

/** The page cache changes after a level was set: this close to a threshold, the kernel's report may have come too early. */
const NEAR_BYTES = 2 ** 27;

/**
 * When the signals are read next: sooner the less memory is left above a threshold, before it can be used up. Where the
 * kernel reports crossed thresholds, only near them.
 */
export function checkPeriodMs(
  thresholds: readonly PressureThreshold[],
  readings: SignalReadings,
  isReported: boolean,
): number {
  const periods = thresholds.filter(isOfMemory).map(({ signal, value }) => {
    const figures = readings.get(signal);
    if (!figures) return CHECK_PERIOD_MS;
    const left = Number(figures.available - thresholdAmount(value, figures.capacity));
    if (left <= 0 || (isReported && left > NEAR_BYTES)) return CHECK_PERIOD_MS;
    return Math.max(SHORTEST_MS, Math.floor(left / BYTES_PER_MS));
  });
  return Math.min(CHECK_PERIOD_MS, ...periods);
}
