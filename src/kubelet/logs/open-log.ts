import { type FileStat, type FileSystem, FileSystemError, type OpenFile } from '../../host/file-system.ts';
import { BLOCK_BYTES, type LogEntry, LogEntryParser } from './log-entries.ts';
import { type Tail, tailOffset } from './tail-offset.ts';

/** An open log file; stays readable while it is rotated, compressed and removed. */
export class OpenLog implements AsyncDisposable {
  readonly #file: OpenFile;
  readonly #parser = new LogEntryParser();
  /** As of opening. */
  readonly stat: FileStat;
  #offset = 0;

  private constructor(file: OpenFile, stat: FileStat) {
    this.#file = file;
    this.stat = stat;
  }

  /** `undefined` when the file does not exist. */
  static async open(fs: FileSystem, path: string): Promise<OpenLog | undefined> {
    try {
      const file = await fs.openFile(path);
      return new OpenLog(file, await file.stat());
    } catch (error) {
      if (error instanceof FileSystemError && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return undefined;
      throw error;
    }
  }

  async skipTo(tail: Tail): Promise<void> {
    this.#offset = await tailOffset(this.#file, this.stat.size, tail);
  }

  /** Entries since the last call, a block at a time, up to file offset `size`. */
  async *entries(size = Number.POSITIVE_INFINITY): AsyncGenerator<readonly LogEntry[], void, void> {
    while (this.#offset < size) {
      const bytes = await this.#file.read(this.#offset, Math.min(BLOCK_BYTES, size - this.#offset));
      if (bytes.length === 0 && !(await this.#startsOver())) return;
      this.#offset += bytes.length;
      const entries = this.#parser.add(bytes);
      if (entries.length > 0) yield entries;
    }
  }

  /** A last line without a line feed. Call when no more entries follow. */
  unfinished(): readonly LogEntry[] {
    return this.#parser.end();
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#file[Symbol.asyncDispose]();
  }

  /** A file that shrank was truncated in place: it is read from its start again. */
  async #startsOver(): Promise<boolean> {
    const { size } = await this.#file.stat();
    if (size >= this.#offset) return false;
    this.#offset = 0;
    return size > 0;
  }
}
