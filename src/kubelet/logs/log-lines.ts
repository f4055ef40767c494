import { Buffer } from 'node:buffer';
import { parseTime, TimeError } from '../../base/rfc3339.ts';
import type { LogEntry, LogStream } from './log-entries.ts';

/** A line as the container wrote it, or a piece of one that is too long to be held. */
export interface LogLine {
  /** RFC 3339, as the runtime wrote it, of the line's first piece. */
  readonly time: string;
  readonly stream: LogStream;
  /** Without the line feed. Bytes, for nobody promises that it is text. */
  readonly text: Uint8Array;
  /** Whether the line begins and ends with this piece. */
  readonly begins: boolean;
  readonly ends: boolean;
}

/** A container that never writes a line feed must not fill our memory: such a line is told in pieces of about this size. */
export const MAX_LINE_BYTES = 1024 * 1024;

/** Milliseconds since 1970. */
export function logTimeMs({ time }: Pick<LogLine, 'time'>): number {
  try {
    return parseTime(time);
  } catch (error) {
    if (error instanceof TimeError) return 0; // the 30th of February
    throw error;
  }
}

interface OpenLine {
  readonly time: string;
  readonly pieces: Uint8Array[];
  bytes: number;
  begun: boolean;
}

/** Joins the pieces of long lines, of each stream by itself, whichever files they are in. */
export class LogLineJoiner {
  readonly #open = new Map<LogStream, OpenLine>();

  /** The line that `entry` completes, or a piece of one that grows too long. */
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

  /** What never got its end, when no more will come: a container's last words without a line feed. */
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
