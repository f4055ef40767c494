import { dirname } from 'node:path';
import type { FileStat, FileSystem } from '../../host/file-system.ts';
import { type LogEntry, parseLogEntry } from './log-lines.ts';
import { tailOffset } from './tail-offset.ts';

const BLOCK_BYTES = 256 * 1024;
const LINE_FEED = 0x0a;

interface Position {
  readonly inode: number;
  offset: number;
}

/**
 * A place in a log file that grows and is rotated.
 * 1. Every entry is told once, in order, whichever file it is in by the time it is read.
 * 2. A rotated file is found again by its inode among the files beside it, so nothing written before the runtime opens
 *    the new file is lost (unless it was compressed or removed meanwhile).
 * 3. A file that shrank was emptied in place: it is read from its start.
 */
export class LogCursor {
  readonly #fs: FileSystem;
  readonly #path: string;
  readonly #tailLines: number | undefined;
  #position: Position | undefined;
  #started = false;
  #unfinished: Uint8Array = new Uint8Array();

  constructor(fs: FileSystem, path: string, tailLines: number | undefined) {
    this.#fs = fs;
    this.#path = path;
    this.#tailLines = tailLines;
  }

  /** What was written since the last call, up to the last line feed. */
  async *entries(): AsyncGenerator<LogEntry, void, void> {
    for (;;) {
      const stat = await this.#fs.stat(this.#path);
      if (stat === undefined || (this.#position && stat.inode !== this.#position.inode)) yield* this.#rotatedEntries();
      if (stat === undefined) return;
      const position = await this.#positionIn(stat);
      if (stat.size === position.offset) return;
      const length = Math.min(BLOCK_BYTES, stat.size - position.offset);
      const bytes = await this.#fs.readRange(this.#path, position.offset, length);
      const after = await this.#fs.stat(this.#path);
      if (after?.inode !== position.inode) continue; // rotated while we read: these bytes may be of the new file
      if (bytes.length === 0) return;
      yield* this.#take(position, bytes);
    }
  }

  /** The last line of a file that does not end with a line feed, when no more will come. */
  unfinishedEntry(): LogEntry | undefined {
    const raw = this.#unfinished;
    this.#unfinished = new Uint8Array();
    return parseLogEntry(Buffer.from(raw).toString('utf8'));
  }

  async #positionIn({ inode, size }: FileStat): Promise<Position> {
    if (this.#position?.inode !== inode) {
      const isFirst = !this.#started;
      this.#started = true;
      const skipTo = isFirst && this.#tailLines !== undefined;
      const offset = skipTo ? await tailOffset(this.#fs, this.#path, size, this.#tailLines ?? 0) : 0;
      this.#position = { inode, offset };
      this.#unfinished = new Uint8Array(); // a runtime never splits a line between two files
    }
    if (size < this.#position.offset) this.#position.offset = 0;
    return this.#position;
  }

  async *#rotatedEntries(): AsyncGenerator<LogEntry, void, void> {
    const position = this.#position;
    if (position === undefined) return;
    const path = await this.#rotatedPath(position.inode);
    if (path === undefined) return;
    for (;;) {
      const bytes = await this.#fs.readRange(path, position.offset, BLOCK_BYTES);
      if (bytes.length === 0) return;
      yield* this.#take(position, bytes);
    }
  }

  async #rotatedPath(inode: number): Promise<string | undefined> {
    const folder = dirname(this.#path);
    if ((await this.#fs.stat(folder)) === undefined) return undefined;
    for (const { name } of await this.#fs.readDirectory(folder)) {
      const stat = await this.#fs.lstat(`${folder}/${name}`);
      if (stat?.inode === inode) return `${folder}/${name}`;
    }
    return undefined;
  }

  *#take(position: Position, bytes: Uint8Array): Generator<LogEntry> {
    position.offset += bytes.length;
    const buffer = Buffer.concat([this.#unfinished, bytes]);
    const end = buffer.lastIndexOf(LINE_FEED);
    this.#unfinished = buffer.subarray(end + 1);
    if (end < 0) return;
    for (const raw of buffer.toString('utf8', 0, end).split('\n')) {
      const entry = parseLogEntry(raw);
      if (entry !== undefined) yield entry;
    }
  }
}
