import { closeSync, readSync } from 'node:fs';
import { errnoCode } from '../sys/errno-code.ts';
import { openInotify } from '../sys/event-calls.ts';
import { type FolderReader, watchFolderOf } from './watch-path.ts';

const IN_MOVED_FROM = 0x40;
const IN_DELETE = 0x200;
const IN_ONLYDIR = 0x1000000;

/** `struct inotify_event` before the name: watch descriptor, mask, cookie and the name's length, four bytes each. */
const HEADER_BYTES = 16;
const BUFFER_BYTES = 64 * 1024;

/** Reads inotify itself: Node.js reports a removed file and a file that another was renamed over as the same event. */
export async function* watchRemovals(
  path: string,
  signal: AbortSignal,
): AsyncGenerator<ReadonlySet<string>, void, void> {
  const folder = path.replace(/\/$/, '');
  let isFile = false;
  const open = (watched: string, file: string | undefined): FolderReader<ReadonlySet<string>> => {
    isFile = file !== undefined;
    return new RemovalReader(watched, file);
  };
  for await (const names of watchFolderOf(path, open, signal)) {
    yield new Set([...(names ?? [])].map((name) => (isFile ? path : `${folder}/${name}`)));
  }
}

/** Reads the names that were removed from a folder or moved out of it. */
class RemovalReader implements FolderReader<ReadonlySet<string>> {
  readonly #fd: number;
  readonly #only: string | undefined;
  #isClosed = false;

  constructor(folder: string, only: string | undefined) {
    this.#fd = openInotify(folder, IN_DELETE | IN_MOVED_FROM | IN_ONLYDIR);
    this.#only = only;
  }

  take(): ReadonlySet<string> | undefined {
    const names = new Set<string>();
    const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
    for (let length = this.#read(buffer); length > 0; length = this.#read(buffer)) {
      for (const name of removedNames(buffer.subarray(0, length))) {
        if (this.#only === undefined || name === this.#only) names.add(name);
      }
    }
    return names.size === 0 ? undefined : names;
  }

  close(): void {
    if (!this.#isClosed) closeSync(this.#fd);
    this.#isClosed = true;
  }

  /** Zero: no more events are pending. */
  #read(buffer: Buffer): number {
    if (this.#isClosed) return 0;
    try {
      return readSync(this.#fd, buffer);
    } catch (error) {
      if (errnoCode(error) === 'EAGAIN') return 0;
      throw error;
    }
  }
}

/** An overflow of the queue and the end of the watch itself have other masks and are skipped. */
function* removedNames(events: Buffer): Generator<string> {
  for (let at = 0; at + HEADER_BYTES <= events.length; ) {
    const mask = events.readUInt32LE(at + 4);
    const nameBytes = events.readUInt32LE(at + 12);
    const name = events.subarray(at + HEADER_BYTES, at + HEADER_BYTES + nameBytes);
    if ((mask & (IN_DELETE | IN_MOVED_FROM)) !== 0) yield name.toString('utf8').replace(/\0+$/, '');
    at += HEADER_BYTES + nameBytes;
  }
}
