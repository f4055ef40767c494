/** A log's size at a moment of the monotonic clock. */
export interface LogSize {
  readonly atMs: number;
  readonly size: number;
}

/** No log is looked at more often, whatever is written to it. */
const MIN_CHECK_MS = 1_000;

/**
 * How long a log may be left alone. kubelet looks at every log once in an interval, in which a busy container writes
 * many times the limit; here that is only the longest wait. If a log grows as it did between the last two looks it
 * reaches its limit at a known time, and that is the time of the next look. How a new one grows is not known: it is
 * soon looked at again.
 */
export function nextSizeCheckMs(
  before: LogSize | undefined,
  now: LogSize,
  { maxBytes, monitorIntervalMs }: { readonly maxBytes: number; readonly monitorIntervalMs: number },
): number {
  const shortest = Math.min(MIN_CHECK_MS, monitorIntervalMs);
  if (before === undefined) return shortest;
  const bytesPerMs = (now.size - before.size) / (now.atMs - before.atMs);
  if (!(bytesPerMs > 0)) return monitorIntervalMs;
  return Math.min(Math.max((maxBytes - now.size) / bytesPerMs, shortest), monitorIntervalMs);
}
