import type { LogLine } from './log-lines.ts';

export interface LogTextOptions {
  /** Puts the time that the runtime noted before each line. */
  readonly timestamps: boolean;
  /** Ends after so many bytes, in the middle of a line if need be. */
  readonly limitBytes?: number | undefined;
}

/** Log lines as `kubectl logs` shows them, one chunk a line. */
export async function* logText(
  lines: AsyncIterable<LogLine>,
  { timestamps, limitBytes = Number.POSITIVE_INFINITY }: LogTextOptions,
): AsyncGenerator<Uint8Array, void, void> {
  let left = limitBytes;
  if (left <= 0) return;
  for await (const { time, text } of lines) {
    const bytes = Buffer.from(`${timestamps ? `${time} ` : ''}${text}\n`);
    yield bytes.length > left ? bytes.subarray(0, left) : bytes;
    left -= bytes.length;
    if (left <= 0) return;
  }
}
