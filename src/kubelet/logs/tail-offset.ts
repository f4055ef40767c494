import { Buffer } from 'node:buffer';
import type { OpenFile } from '../../host/file-system.ts';
import { MAX_HEADER_BYTES, parseHeader } from './log-entries.ts';

const BLOCK_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;

/** The number of lines at the end of a log. `lines`: lines of the container, joined. `entries`: lines of the file. */
export interface Tail {
  readonly count: number;
  readonly of: 'lines' | 'entries';
}

/**
 * The offset at which the tail of a CRI log of `size` bytes begins. Reads blocks backwards from the end, only as many
 * as needed, and keeps only the start of each line. Invalid lines do not count.
 */
export async function tailOffset(file: Pick<OpenFile, 'read'>, size: number, tail: Tail): Promise<number> {
  if (tail.count <= 0) return size;
  const counter = new TailCounter(tail);
  let lineEnd = size;
  let carry: Uint8Array = new Uint8Array(); // the first bytes of the line that starts in the previous block
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - BLOCK_BYTES);
    const block = Buffer.concat([await file.read(start, end - start), carry]);
    const known = (from: number): Uint8Array =>
      block.subarray(from, Math.min(lineEnd - start, from + MAX_HEADER_BYTES));
    for (let at = lastBreak(block, end - start); at >= 0; at = lastBreak(block, at)) {
      if (counter.isBeforeTail(known(at + 1))) return lineEnd + 1;
      lineEnd = start + at;
    }
    carry = known(0);
    end = start;
  }
  return counter.isBeforeTail(carry) ? lineEnd + 1 : 0;
}

/** The last line feed before `end`, or -1. */
function lastBreak(block: Buffer, end: number): number {
  return end === 0 ? -1 : block.lastIndexOf(LINE_FEED, end - 1);
}

/** Counts entries from the last one backwards. */
class TailCounter {
  readonly #tail: Tail;
  #left: number;
  #sawEntry = false;

  constructor(tail: Tail) {
    this.#tail = tail;
    this.#left = tail.count;
  }

  /** Whether this entry belongs to a line before the tail. */
  isBeforeTail(raw: Uint8Array): boolean {
    const header = parseHeader(raw);
    if (header === undefined) return false;
    // Backwards, an `F` entry ends a new line, and so does a partial entry at the end of the file.
    if (this.#tail.of === 'entries' || !header.partial || !this.#sawEntry) {
      if (this.#left === 0) return true;
      this.#left--;
    }
    this.#sawEntry = true;
    return false;
  }
}
