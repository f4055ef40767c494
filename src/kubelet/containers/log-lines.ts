import { parseTime, TimeError } from '../../base/rfc3339.ts';

export type LogStream = 'stdout' | 'stderr';

/** One line as the container wrote it. */
export interface LogLine {
  /** RFC 3339, as the runtime wrote it, of the line's first piece. */
  readonly time: string;
  readonly stream: LogStream;
  /** Without the line feed. */
  readonly text: string;
}

/** One line of a CRI log file: a whole line of the container (`F`), or a piece that goes on (`P`). */
export interface LogEntry extends LogLine {
  readonly partial: boolean;
}

/** A container that never writes a line feed must not fill our memory: such a line is told in pieces of this size. */
export const MAX_LINE_CHARACTERS = 1024 * 1024;

/** `2016-10-06T00:17:09.669794202Z stdout F text`; tags after the first (`F:a:b`) mean nothing yet. */
const ENTRY = /^(\S+) (stdout|stderr) ([PF])(?::\S*)? ?(.*)$/s;

/** `undefined` for what is no line of a CRI log: a crash of the runtime may leave such lines, and they are skipped. */
export function parseLogEntry(raw: string): LogEntry | undefined {
  const [, time = '', stream, tag, text = ''] = ENTRY.exec(raw) ?? [];
  if (stream !== 'stdout' && stream !== 'stderr') return undefined;
  if (timeOf(time) === undefined) return undefined;
  return { time, stream, text, partial: tag === 'P' };
}

/** Milliseconds since 1970. */
export function logTimeMs({ time }: LogLine): number {
  return timeOf(time) ?? 0;
}

function timeOf(text: string): number | undefined {
  try {
    return parseTime(text);
  } catch (error) {
    if (error instanceof TimeError) return undefined;
    throw error;
  }
}

/** Joins the pieces of long lines, of each stream by itself. */
export class LogLineJoiner {
  readonly #open = new Map<LogStream, LogLine>();

  /** The line that `entry` completes, if it does. */
  add(entry: LogEntry): LogLine | undefined {
    const { stream } = entry;
    const open = this.#open.get(stream);
    const line: LogLine = { time: open?.time ?? entry.time, stream, text: (open?.text ?? '') + entry.text };
    if (entry.partial && line.text.length < MAX_LINE_CHARACTERS) {
      this.#open.set(stream, line);
      return undefined;
    }
    this.#open.delete(stream);
    return line;
  }

  /** What never got its end, when no more will come. */
  *rest(): Generator<LogLine> {
    yield* this.#open.values();
    this.#open.clear();
  }
}
