import { Buffer } from 'node:buffer';

export type LogStream = 'stdout' | 'stderr';

/** One line of a CRI log file, or a part of a very long one. */
export interface LogEntry {
  /** RFC 3339, as the runtime wrote it. */
  readonly time: string;
  readonly stream: LogStream;
  /** Without a line feed. */
  readonly text: Uint8Array;
  /** The container's line continues in the next entry of its stream. */
  readonly partial: boolean;
}

type Header = Omit<LogEntry, 'text'> & { readonly length: number };

const LINE_FEED = 0x0a;

/** Read size. Longer lines of the file are returned in parts, which bounds memory. */
export const BLOCK_BYTES = 256 * 1024;

/** Upper bound of the bytes before the text. */
export const MAX_HEADER_BYTES = 256;

/** `2016-10-06T00:17:09.669794202Z stdout F text`; tags after the first (`F:a:b`) are ignored. */
const HEADER =
  /^(\d{4}-(?:0\d|1[0-2])-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)) (stdout|stderr) ([^ :]*)(?::[^ ]*)? /;

/** Parses the part of a line before its text. `undefined` when it is not a CRI log line. */
export function parseHeader(line: Uint8Array): Header | undefined {
  const start = Buffer.from(line.buffer, line.byteOffset, Math.min(line.length, MAX_HEADER_BYTES));
  const [head, time, stream, tag] = HEADER.exec(start.toString('latin1')) ?? [];
  if (head === undefined || time === undefined) return undefined;
  return { time, stream: stream === 'stderr' ? 'stderr' : 'stdout', partial: tag === 'P', length: head.length };
}

/**
 * Splits the bytes of one log file into entries, at any chunk boundaries. Invalid lines are skipped: a crash of the
 * runtime or a full disk may leave them.
 */
export class LogEntryParser {
  /** The start of an incomplete line. */
  #rest: Uint8Array = new Uint8Array();
  /** The line whose start was already returned, or skipped (`header: undefined`). */
  #within: { readonly header: Header | undefined } | undefined;

  add(bytes: Uint8Array): LogEntry[] {
    const entries: LogEntry[] = [];
    const buffer = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    let start = 0;
    for (let end = buffer.indexOf(LINE_FEED); end >= 0; end = buffer.indexOf(LINE_FEED, start)) {
      this.#push(entries, buffer.subarray(start, end), true);
      start = end + 1;
    }
    this.#rest = buffer.subarray(start);
    if (this.#rest.length >= BLOCK_BYTES) this.#push(entries, this.#takeRest(), false);
    return entries;
  }

  /** Returns the last line of the file if it has no line feed. Call when no more bytes follow. */
  end(): LogEntry[] {
    const entries: LogEntry[] = [];
    if (this.#rest.length > 0) this.#push(entries, this.#takeRest(), true);
    return entries;
  }

  #takeRest(): Uint8Array {
    const rest = this.#rest;
    this.#rest = new Uint8Array();
    return rest;
  }

  #push(entries: LogEntry[], bytes: Uint8Array, isEnd: boolean): void {
    const header = this.#within ? this.#within.header : parseHeader(bytes);
    const text = this.#within || !header ? bytes : bytes.subarray(header.length);
    this.#within = isEnd ? undefined : { header };
    if (!header) return;
    const { time, stream, partial } = header;
    entries.push({ time, stream, text, partial: partial || !isEnd });
  }
}
