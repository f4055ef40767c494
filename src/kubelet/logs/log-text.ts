import { Buffer } from 'node:buffer';
import type { LogLine } from './log-lines.ts';

export interface LogTextOptions {
  /** Prefixes each line with its time. */
  readonly timestamps: boolean;
  /** Stops after this many bytes, even within a line. */
  readonly limitBytes?: number | undefined;
}

const LINE_FEED = Buffer.from('\n');

/** Formats log lines exactly as `kubectl logs` shows them. */
export async function* logText(
  batches: AsyncIterable<readonly LogLine[]>,
  { timestamps, limitBytes = Number.POSITIVE_INFINITY }: LogTextOptions,
): AsyncGenerator<Uint8Array, void, void> {
  let left = limitBytes;
  if (left <= 0) return;
  for await (const lines of batches) {
    const bytes = formatLines(lines, timestamps);
    yield bytes.length > left ? bytes.subarray(0, left) : bytes;
    left -= bytes.length;
    if (left <= 0) return;
  }
}

function formatLines(lines: readonly LogLine[], timestamps: boolean): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const { time, text, begins, ends } of lines) {
    if (timestamps && begins) parts.push(Buffer.from(`${formatLogTime(time)} `));
    parts.push(text);
    if (ends) parts.push(LINE_FEED);
  }
  return Buffer.concat(parts);
}

/** Formats the time with nine fractional digits, so that lines align; runtimes omit trailing zeros. */
export function formatLogTime(time: string): string {
  const [, seconds = time, fraction = '', zone = ''] = /^([^.,]{19})(?:[.,](\d+))?(.*)$/.exec(time) ?? [];
  return `${seconds}.${fraction.slice(0, 9).padEnd(9, '0')}${/^[+-]00:00$/.test(zone) ? 'Z' : zone}`;
}
