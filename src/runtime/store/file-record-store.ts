import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../../base/log.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import { type FileSystem, FileSystemError, isOutOfSpace } from '../../host/file-system.ts';
import { recordPath } from './record-path.ts';
import type { PutOptions, RecordStore } from './record-store.ts';
import { recordToText } from './record-text.ts';

export interface RecordStoreOptions<R extends { readonly id: string }> {
  /** Made when missing. Everything in it is ours. */
  readonly folder: string;
  /** On another file system, for changes while the disk of `folder` is full. Made when it is needed. */
  readonly overflowFolder: string;
  readonly fs: Pick<FileSystem, 'makeDirectory' | 'readDirectory' | 'readText' | 'writeReplacing' | 'remove' | 'stat'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /**
   * From what the file holds (bigint and bytes are themselves again) to the record; CRI's messages go through
   * `fromPartial`, so that a record of an older version gets the defaults of new fields. Throws when it cannot be one.
   */
  decode(value: unknown): R;
}

/**
 * Where the newest state of a record is while it is not on the disk. The overflow folder never holds an older state than
 * the disk does.
 */
type OffDisk = 'overflow' | 'memory';

export class FileRecordStore<R extends { readonly id: string }> implements RecordStore<R> {
  readonly #options: RecordStoreOptions<R>;
  readonly #all: Map<string, R>;
  readonly #offDisk: Map<string, OffDisk>;
  /** Ids with a file in the overflow folder. */
  readonly #overflowed: Set<string>;
  /** `writeBack` goes on beside the writes of the owner. */
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
      // A changed record shares most of its parts with the one before, which makes this much cheaper than two texts.
      if (!isDeepStrictEqual(this.#all.get(record.id), record)) await this.#write(record, options);
      this.#all.set(record.id, record);
    });
  }

  remove(id: string): Promise<void> {
    return this.#writes.run(id, async () => {
      // The disk first: an overflow file without a record on the disk is one of a record that was removed.
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
          this.#options.log.warn('cannot write a record to the disk', { path: this.#diskPath(id), error });
        });
      });
    }
    return this.#offDisk.size === 0;
  }

  async #write(record: R, { mayDefer: mayLag = false }: PutOptions): Promise<void> {
    const { id } = record;
    const text = recordToText(record);
    // Before the disk has the new state, the overflow folder has it: a crash in between must not bring an older one back.
    const isOverflowing = this.#overflowed.has(id) && (await this.#writeOverflow(id, text)) === undefined;
    const full = await outOfSpaceError(this.#writeFile(this.#diskPath(id), text));
    if (full === undefined) return this.#dropOverflow(id);
    if (!this.#all.has(id)) throw full;
    const everywhereFull = isOverflowing ? undefined : await this.#writeOverflow(id, text);
    if (everywhereFull !== undefined && !mayLag) throw full;
    this.#noteOffDisk(id, everywhereFull === undefined ? 'overflow' : 'memory', full);
  }

  /** The error when there is no space either. */
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
      this.#options.log.info('every record is on the disk again', { folder: this.#options.folder });
    }
  }

  #noteOffDisk(id: string, where: OffDisk, error: FileSystemError): void {
    const { log, folder, overflowFolder } = this.#options;
    if (this.#offDisk.size === 0) {
      log.warn('the disk is full: changes of records are kept elsewhere until it has space', {
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
