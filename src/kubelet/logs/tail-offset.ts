import { Buffer } from 'node:buffer';
import type { OpenFile } from '../../host/file-system.ts';
import { MAX_HEADER_BYTES, parseHeader } from './log-entries.ts';

const BLOCK_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;

/**
 * What is counted: lines of the container, whose pieces are one line, or lines of the file. What is no log line does
 * not count.
 */
export interface Tail {
  readonly count: number;
  readonly of: 'lines' | 'entries';
}

/**
 * Where the tail of a CRI log of `size` bytes begins. It reads blocks from the end backwards, no more of them than it
 * needs, and of a line of any length it keeps no more than its start.
 */
export async function tailOffset(file: Pick<OpenFile, 'read'>, size: number, tail: Tail): Promise<number> {
  if (tail.count <= 0) return size;
  const counter = new TailCounter(tail);
  let lineEnd = size;
  let carry: Uint8Array = new Uint8Array(); // the start of what is known of a line whose start is in the block before
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

  /** Whether this entry belongs to a line that comes before the wanted ones. */
  isBeforeTail(raw: Uint8Array): boolean {
    const header = parseHeader(raw);
    if (header === undefined) return false;
    // Going backwards, an entry with `F` is the end of a line not seen yet, and so is an open one at the file's end.
    if (this.#tail.of === 'entries' || !header.partial || !this.#sawEntry) {
      if (this.#left === 0) return true;
      this.#left--;
    }
    this.#sawEntry = true;
    return false;
  }
}
