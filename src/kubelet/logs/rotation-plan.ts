import { formatTime, parseTime, TimeError } from '../../base/rfc3339.ts';
import { logsInUse, type RotatedLog, rotatedLogs } from './log-file-names.ts';

/** How much of a container's output is kept. Milliseconds and bytes. */
export interface LogRotationPolicy {
  /** From this size on a log is rotated; a negative number: never. */
  readonly maxBytes: number;
  /** With the one that is written to. */
  readonly maxFiles: number;
  /** How many logs are rotated at once. */
  readonly maxWorkers: number;
  readonly monitorIntervalMs: number;
}

/** What a rotation does in the folder of a log. Names. */
export interface RotationPlan {
  /** Left by what was interrupted: nothing in them is not elsewhere too. */
  readonly leftovers: readonly string[];
  /** What the log that is written to is called from now on. */
  readonly rotateTo: string;
  /** What is too much by then, from the oldest on: a follower may read the newest. */
  readonly excess: readonly string[];
  /** The one rotated now is left as it is: log collectors, and the runtime itself, may not be done with it. */
  readonly compress: readonly string[];
}

export function planRotation(name: string, folder: readonly string[], maxFiles: number, nowMs: number): RotationPlan {
  const logs = rotatedLogs(name, folder);
  const inUse = logsInUse(logs);
  const leftovers = logs.filter((log) => !inUse.includes(log));
  // The log rotated now and the new one come on top.
  const excess = Math.max(0, inUse.length - Math.max(0, maxFiles - 2));
  const kept = inUse.slice(excess);
  return {
    leftovers: leftovers.map((log) => log.name),
    rotateTo: `${name}.${nextStamp(logs, nowMs)}`,
    excess: inUse.slice(0, excess).map((log) => log.name),
    compress: kept.filter(({ form }) => form === 'plain').map((log) => log.name),
  };
}

/** Always behind the others, also twice within a second or after the clock was set back: the order is in the names. */
function nextStamp(logs: readonly RotatedLog[], nowMs: number): string {
  const taken = logs.map(({ stamp }) => timeOf(stamp)).filter((time) => time !== undefined);
  return formatTime(Math.max(nowMs, ...taken.map((time) => time + 1000)))
    .replace(/[-:Z]/g, '')
    .replace('T', '-');
}

function timeOf(stamp: string): number | undefined {
  try {
    return parseTime(stamp.replace(/(....)(..)(..)-(..)(..)(..)/, '$1-$2-$3T$4:$5:$6Z'));
  } catch (error) {
    if (error instanceof TimeError) return undefined; // no time of ours
    throw error;
  }
}
