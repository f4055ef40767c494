import type { FileSystem } from '../../host/file-system.ts';
import { parseLogEntry } from './log-lines.ts';

const BLOCK_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;

/**
 * Where the last `lines` lines of a CRI log of `size` bytes begin. It reads blocks from the end backwards, and no more
 * of them than it needs. Pieces of one long line count as one line; what is no log line does not count.
 */
export async function tailOffset(fs: FileSystem, path: string, size: number, lines: number): Promise<number> {
  if (lines <= 0) return size;
  const counter = new TailCounter(lines);
  let carry: Uint8Array = new Uint8Array(); // the end of a line whose start is in the block before
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - BLOCK_BYTES);
    const block = Buffer.concat([await fs.readRange(path, start, end - start), carry]);
    const firstBreak = block.indexOf(LINE_FEED);
    let lineEnd = block.length;
    for (let at = block.lastIndexOf(LINE_FEED); at >= 0; at = at === 0 ? -1 : block.lastIndexOf(LINE_FEED, at - 1)) {
      if (counter.isBeforeTail(block.subarray(at + 1, lineEnd))) return start + lineEnd + 1;
      lineEnd = at;
    }
    carry = firstBreak < 0 ? block : block.subarray(0, firstBreak);
    end = start;
  }
  return counter.isBeforeTail(carry) ? carry.length + 1 : 0;
}

/** Counts entries from the last one backwards. */
class TailCounter {
  #left: number;
  #sawEntry = false;

  constructor(lines: number) {
    this.#left = lines;
  }

  /** Whether this entry belongs to a line that comes before the wanted ones. */
  isBeforeTail(raw: Uint8Array): boolean {
    const entry = parseLogEntry(Buffer.from(raw).toString('utf8'));
    if (entry === undefined) return false;
    // Going backwards, an entry with `F` is the end of a line not seen yet, and so is an open one at the file's end.
    if (!entry.partial || !this.#sawEntry) {
      if (this.#left === 0) return true;
      this.#left--;
    }
    this.#sawEntry = true;
    return false;
  }
}
