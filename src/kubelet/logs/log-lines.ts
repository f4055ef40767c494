import { Buffer } from 'node:buffer';
import { parseTime, TimeError } from '../../base/rfc3339.ts';
import type { LogEntry, LogStream } from './log-entries.ts';

/** A line as the container wrote it, or a part of a very long one. */
export interface LogLine {
  /** RFC 3339, as the runtime wrote it; the time of the line's first part. */
  readonly time: string;
  readonly stream: LogStream;
  /** Without the line feed. Bytes: containers may write anything. */
  readonly text: Uint8Array;
  /** Whether this part begins and ends the line. */
  readonly begins: boolean;
  readonly ends: boolean;
}

/** Longer lines are returned in parts of about this size: a container may never write a line feed. */
export const MAX_LINE_BYTES = 1024 * 1024;

/** Milliseconds since 1970. */
export function logTimeMs({ time }: Pick<LogLine, 'time'>): number {
  try {
    return parseTime(time);
  } catch (error) {
    if (error instanceof TimeError) return 0; // an impossible date, such as 30 February
    throw error;
  }
}

interface OpenLine {
  readonly time: string;
  readonly pieces: Uint8Array[];
  bytes: number;
  begun: boolean;
}

/** Joins the partial entries of each stream into lines, also across files. */
export class LogLineJoiner {
  readonly #open = new Map<LogStream, OpenLine>();

  /** Returns the line that `entry` completes, or a part of one that is too long. */
  add(entry: LogEntry): LogLine | undefined {
    const { stream, time, text, partial } = entry;
    const open = this.#open.get(stream);
    if (!open && !partial) return { time, stream, text, begins: true, ends: true };
    const line = open ?? { time, pieces: [], bytes: 0, begun: false };
    line.pieces.push(text);
    line.bytes += text.length;
    if (!partial) {
      this.#open.delete(stream);
      return take(stream, line, true);
    }
    this.#open.set(stream, line);
    return line.bytes >= MAX_LINE_BYTES ? take(stream, line, false) : undefined;
  }

  /** The last line of each stream without a line feed. Call when no more entries follow. */
  *rest(): Generator<LogLine> {
    for (const [stream, line] of this.#open) yield take(stream, line, false);
    this.#open.clear();
  }
}

function take(stream: LogStream, line: OpenLine, ends: boolean): LogLine {
  const begins = !line.begun;
  line.begun = true;
  line.bytes = 0;
  return { time: line.time, stream, text: Buffer.concat(line.pieces.splice(0)), begins, ends };
}
