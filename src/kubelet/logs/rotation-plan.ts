import { formatTime, parseTime, TimeError } from '../../base/rfc3339.ts';
import { logsInUse, type RotatedLog, rotatedLogs } from './log-file-names.ts';

/** Limits of a container's logs. Milliseconds and bytes. */
export interface LogRotationPolicy {
  /** Size from which a log is rotated; negative: never. */
  readonly maxBytes: number;
  /** Includes the log that is being written. */
  readonly maxFiles: number;
  /** Maximum number of concurrent rotations. */
  readonly maxWorkers: number;
  readonly monitorIntervalMs: number;
}

/** The file names that a rotation removes, renames and compresses. */
export interface RotationPlan {
  /** Left by interrupted rotations; their lines exist in other files too. */
  readonly leftovers: readonly string[];
  /** The new name of the current log. */
  readonly rotateTo: string;
  /** Logs beyond the limit, oldest first: a follower may read the newest. */
  readonly excess: readonly string[];
  /** Does not contain the log rotated now: log collectors and the runtime may still use it. */
  readonly compress: readonly string[];
}

export function planRotation(name: string, folder: readonly string[], maxFiles: number, nowMs: number): RotationPlan {
  const logs = rotatedLogs(name, folder);
  const inUse = logsInUse(logs);
  const leftovers = logs.filter((log) => !inUse.includes(log));
  // The log rotated now and the new one count too.
  const excess = Math.max(0, inUse.length - Math.max(0, maxFiles - 2));
  const kept = inUse.slice(excess);
  return {
    leftovers: leftovers.map((log) => log.name),
    rotateTo: `${name}.${nextStamp(logs, nowMs)}`,
    excess: inUse.slice(0, excess).map((log) => log.name),
    compress: kept.filter(({ form }) => form === 'plain').map((log) => log.name),
  };
}

/** Later than all existing stamps, even within one second or after the clock was set back: names define the order. */
function nextStamp(logs: readonly RotatedLog[], nowMs: number): string {
  const taken = logs.map(({ stamp }) => parseStamp(stamp)).filter((time) => time !== undefined);
  return formatTime(Math.max(nowMs, ...taken.map((time) => time + 1000)))
    .replace(/[-:Z]/g, '')
    .replace('T', '-');
}

function parseStamp(stamp: string): number | undefined {
  try {
    return parseTime(stamp.replace(/(....)(..)(..)-(..)(..)(..)/, '$1-$2-$3T$4:$5:$6Z'));
  } catch (error) {
    if (error instanceof TimeError) return undefined; // not one of our names
    throw error;
  }
}

/** The size of a log at a monotonic time. */
export interface LogSize {
  readonly atMs: number;
  readonly size: number;
}

/** Minimum time between two size checks of a log. */
const MIN_CHECK_MS = 1_000;

/**
 * Milliseconds until the next size check of a log. kubelet checks every log once per interval, in which a busy container
 * writes many times the limit; here the interval is the maximum. The growth between the last two checks predicts when the
 * log reaches its limit. A new log is checked again soon: its growth is unknown.
 */
export function nextSizeCheckMs(
  before: LogSize | undefined,
  now: LogSize,
  { maxBytes, monitorIntervalMs }: Pick<LogRotationPolicy, 'maxBytes' | 'monitorIntervalMs'>,
): number {
  const shortest = Math.min(MIN_CHECK_MS, monitorIntervalMs);
  if (before === undefined) return shortest;
  const bytesPerMs = (now.size - before.size) / (now.atMs - before.atMs);
  if (!(bytesPerMs > 0)) return monitorIntervalMs;
  return Math.min(Math.max((maxBytes - now.size) / bytesPerMs, shortest), monitorIntervalMs);
}
