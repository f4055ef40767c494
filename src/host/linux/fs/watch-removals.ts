import { closeSync, readSync } from 'node:fs';
import koffi from 'koffi';
import { errnoCode } from '../sys/errno-code.ts';
import { errnoName, SystemCallError } from '../sys/libc.ts';
import { type FolderReader, followPath } from './watch-path.ts';

const libc = koffi.load('libc.so.6');
const inotifyInit = libc.func('int inotify_init1(int flags)');
const inotifyAddWatch = libc.func('int inotify_add_watch(int fd, const char *path, uint32_t mask)');

const IN_NONBLOCK = 0o4000;
const IN_CLOEXEC = 0o2000000;
const IN_MOVED_FROM = 0x40;
const IN_DELETE = 0x200;
const IN_ONLYDIR = 0x1000000;

/** Before the name: watch descriptor, mask, cookie and the length of the name, four bytes each. */
const HEADER_BYTES = 16;
const BUFFER_BYTES = 64 * 1024;

/** Node.js gives one kind of event to a file that is removed and to one that is renamed over another: inotify itself is read. */
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
  for await (const names of followPath(path, open, signal)) {
    yield new Set([...(names ?? [])].map((name) => (isFile ? path : `${folder}/${name}`)));
  }
}

/** The names that were removed from a folder, or moved out of it. */
class RemovalReader implements FolderReader<ReadonlySet<string>> {
  readonly #fd: number;
  readonly #only: string | undefined;
  #isClosed = false;

  constructor(folder: string, only: string | undefined) {
    this.#fd = inotifyInit(IN_NONBLOCK | IN_CLOEXEC);
    if (this.#fd === -1) throw new SystemCallError('inotify_init1', errnoName(koffi.errno()));
    this.#only = only;
    if (inotifyAddWatch(this.#fd, folder, IN_DELETE | IN_MOVED_FROM | IN_ONLYDIR) !== -1) return;
    const code = errnoName(koffi.errno());
    this.close();
    throw new SystemCallError('inotify_add_watch', code);
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

  /** Zero when there is nothing more. */
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

/** Events that the kernel dropped, or that the watch itself ended, have no such mask. */
function* removedNames(events: Buffer): Generator<string> {
  for (let at = 0; at + HEADER_BYTES <= events.length; ) {
    const mask = events.readUInt32LE(at + 4);
    const nameBytes = events.readUInt32LE(at + 12);
    const name = events.subarray(at + HEADER_BYTES, at + HEADER_BYTES + nameBytes);
    if ((mask & (IN_DELETE | IN_MOVED_FROM)) !== 0) yield name.toString('utf8').replace(/\0+$/, '');
    at += HEADER_BYTES + nameBytes;
  }
}
