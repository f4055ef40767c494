import { isDeepStrictEqual } from 'node:util';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { Log } from '../../base/log.ts';
import { type FileSystem, FileSystemError, isOutOfSpace } from '../../host/file-system.ts';
import type { PutOptions, RecordStore } from './record-store.ts';
import { recordToText } from './record-text.ts';

const ENDING = '.json';

export interface RecordStoreOptions<R extends { readonly id: string }> {
  /** Created if missing. The store owns everything in it. */
  readonly folder: string;
  /** On another filesystem, for changes while the disk of `folder` is full. Created when needed. */
  readonly overflowFolder: string;
  readonly fs: Pick<FileSystem, 'makeDirectory' | 'readDirectory' | 'readText' | 'writeReplacing' | 'remove' | 'stat'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /**
   * Converts the content of a file (with bigint and bytes restored) to a record. CRI messages go through `fromPartial`, so
   * that records of an older version get the defaults of new fields. Throws if it is not a record.
   */
  decode(value: unknown): R;
}

/**
 * Where the newest state of a record is while it is not on disk. The overflow directory never holds an older state than the
 * disk.
 */
type OffDisk = 'overflow' | 'memory';

export class FileRecordStore<R extends { readonly id: string }> implements RecordStore<R> {
  readonly #options: RecordStoreOptions<R>;
  readonly #all: Map<string, R>;
  readonly #offDisk: Map<string, OffDisk>;
  /** Ids with a file in the overflow directory. */
  readonly #overflowed: Set<string>;
  /** Serializes `writeBack` with the writes of the owner. */
  readonly #writes = new KeyedMutex();

  constructor(options: RecordStoreOptions<R>, records: readonly R[], overflowed: readonly string[]) {
    this.#options = options;
    this.#all = new Map(records.map((record) => [record.id, record]));
    this.#overflowed = new Set(overflowed);
    this.#offDisk = new Map(overflowed.map((id) => [id, 'overflow']));
  }

  get all(): ReadonlyMap<string, R> {
    return this.#all;
  }

  find(idOrPrefix: string): R | undefined {
    const exact = this.#all.get(idOrPrefix);
    if (exact !== undefined || idOrPrefix === '') return exact;
    let found: R | undefined;
    for (const [id, record] of this.#all) {
      if (!id.startsWith(idOrPrefix)) continue;
      if (found !== undefined) return undefined;
      found = record;
    }
    return found;
  }

  put(record: R, options: PutOptions = {}): Promise<void> {
    return this.#writes.run(record.id, async () => {
      // Records share most parts with their predecessor, so comparing them is much cheaper than encoding both.
      if (!isDeepStrictEqual(this.#all.get(record.id), record)) await this.#write(record, options);
      this.#all.set(record.id, record);
    });
  }

  remove(id: string): Promise<void> {
    return this.#writes.run(id, async () => {
      // The disk first: an overflow file without a record on the disk marks a removed record.
      await this.#options.fs.remove(this.#diskPath(id));
      this.#all.delete(id);
      await this.#dropOverflow(id);
    });
  }

  async writeBack(): Promise<boolean> {
    for (const id of [...this.#offDisk.keys()]) {
      await this.#writes.run(id, async () => {
        const record = this.#all.get(id);
        if (record === undefined || !this.#offDisk.has(id)) return;
        await this.#write(record, { mayDefer: true }).catch((error: unknown) => {
          this.#options.log.warn('cannot write record to disk', { path: this.#diskPath(id), error });
        });
      });
    }
    return this.#offDisk.size === 0;
  }

  async #write(record: R, { mayDefer: mayLag = false }: PutOptions): Promise<void> {
    const { id } = record;
    const text = recordToText(record);
    // The overflow file is updated before the disk: a crash in between must not restore an older state.
    const isOverflowing = this.#overflowed.has(id) && (await this.#writeOverflow(id, text)) === undefined;
    const full = await outOfSpaceError(this.#writeFile(this.#diskPath(id), text));
    if (full === undefined) return this.#dropOverflow(id);
    if (!this.#all.has(id)) throw full;
    const everywhereFull = isOverflowing ? undefined : await this.#writeOverflow(id, text);
    if (everywhereFull !== undefined && !mayLag) throw full;
    this.#noteOffDisk(id, everywhereFull === undefined ? 'overflow' : 'memory', full);
  }

  /** Returns the error if there is no space either. */
  async #writeOverflow(id: string, text: string): Promise<FileSystemError | undefined> {
    const { fs, overflowFolder } = this.#options;
    const full = await outOfSpaceError(
      fs.makeDirectory(overflowFolder, 0o700).then(() => this.#writeFile(this.#overflowPath(id), text)),
    );
    if (full === undefined) this.#overflowed.add(id);
    return full;
  }

  async #dropOverflow(id: string): Promise<void> {
    if (this.#overflowed.has(id)) await this.#options.fs.remove(this.#overflowPath(id));
    this.#overflowed.delete(id);
    if (this.#offDisk.delete(id) && this.#offDisk.size === 0) {
      this.#options.log.info('all records are on disk again', { folder: this.#options.folder });
    }
  }

  #noteOffDisk(id: string, where: OffDisk, error: FileSystemError): void {
    const { log, folder, overflowFolder } = this.#options;
    if (this.#offDisk.size === 0) {
      log.warn('disk is full: record changes go to the overflow directory', {
        folder,
        overflowFolder,
        error,
      });
    }
    this.#offDisk.set(id, where);
  }

  #writeFile(path: string, text: string): Promise<void> {
    return this.#options.fs.writeReplacing(path, text, { mode: 0o600 });
  }

  #diskPath(id: string): string {
    return recordPath(this.#options.folder, id);
  }

  #overflowPath(id: string): string {
    return recordPath(this.#options.overflowFolder, id);
  }
}

async function outOfSpaceError(write: Promise<void>): Promise<FileSystemError | undefined> {
  try {
    await write;
    return undefined;
  } catch (error) {
    if (error instanceof FileSystemError && isOutOfSpace(error)) return error;
    throw error;
  }
}

export function recordPath(folder: string, id: string): string {
  return `${folder}/${id}${ENDING}`;
}

/** `undefined` for a temporary file that a crash left. */
export function recordIdFromFileName(name: string): string | undefined {
  return name.endsWith(ENDING) ? name.slice(0, -ENDING.length) : undefined;
}
