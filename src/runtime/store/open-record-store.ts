import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../../base/log.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import type { OpenedStore, RecordStore } from './record-store.ts';
import { recordFromText, recordToText } from './record-text.ts';

const ENDING = '.json';
/**
 * The disk has lost this one file. Anything else (no descriptors left, say) may be over the next time, and is no reason to
 * take a pod away.
 */
const LOST_CODES = new Set(['EIO', 'EUCLEAN', 'EBADMSG']);

export interface RecordStoreOptions<R extends { readonly id: string }> {
  /** Made when missing. Everything in it is ours. */
  readonly folder: string;
  readonly fs: Pick<FileSystem, 'makeDirectory' | 'readDirectory' | 'readText' | 'writeReplacing' | 'remove'>;
  readonly log: Pick<Log, 'warn'>;
  /**
   * From what the file holds (bigint and bytes are themselves again) to the record; CRI's messages go through
   * `fromPartial`, so that a record of an older version gets the defaults of new fields. Throws when it cannot be one.
   */
  decode(value: unknown): R;
}

/** Reads all that is there. What cannot be read is told as damaged, and stays until `remove` is called for it. */
export async function openRecordStore<R extends { readonly id: string }>(
  options: RecordStoreOptions<R>,
): Promise<OpenedStore<R>> {
  const { folder, fs, log } = options;
  await fs.makeDirectory(folder, 0o700);
  const entries = await fs.readDirectory(folder);
  for (const { name } of entries.filter(({ kind }) => kind !== 'file')) {
    log.warn('what is no file is passed over among the records', { path: `${folder}/${name}` });
  }
  const names = entries.filter(({ kind }) => kind === 'file').map(({ name }) => name);
  const ids = names.filter((name) => name.endsWith(ENDING)).map((name) => name.slice(0, -ENDING.length));
  const strays = names.filter((name) => !name.endsWith(ENDING));
  const [read] = await Promise.all([
    Promise.all(ids.map((id) => readRecord(id, options))),
    Promise.all(strays.map((name) => removeStray(`${folder}/${name}`, options))),
  ]);
  const records = read.filter((record) => record !== undefined);
  const damaged = ids.filter((_, index) => read[index] === undefined);
  return { store: new FileRecordStore(options, records), damaged };
}

async function readRecord<R extends { readonly id: string }>(
  id: string,
  { folder, fs, decode, log }: RecordStoreOptions<R>,
): Promise<R | undefined> {
  const path = `${folder}/${id}${ENDING}`;
  const text = await fs.readText(path).catch((error: unknown) => {
    if (!(error instanceof FileSystemError && LOST_CODES.has(error.code))) throw error;
    log.warn('a record cannot be read', { path, error });
    return undefined;
  });
  if (text === undefined) return undefined;
  try {
    const record = decode(recordFromText(text));
    return record.id === id ? record : undefined;
  } catch {
    return undefined;
  }
}

async function removeStray(
  path: string,
  { fs, log }: Pick<RecordStoreOptions<{ readonly id: string }>, 'fs' | 'log'>,
): Promise<void> {
  await fs.remove(path).catch((error: unknown) => log.warn('cannot remove what a crash left', { path, error }));
}

class FileRecordStore<R extends { readonly id: string }> implements RecordStore<R> {
  readonly #options: RecordStoreOptions<R>;
  readonly #all: Map<string, R>;

  constructor(options: RecordStoreOptions<R>, records: readonly R[]) {
    this.#options = options;
    this.#all = new Map(records.map((record) => [record.id, record]));
  }

  get all(): ReadonlyMap<string, R> {
    return this.#all;
  }

  find(idOrBeginning: string): R | undefined {
    const exact = this.#all.get(idOrBeginning);
    if (exact !== undefined || idOrBeginning === '') return exact;
    let found: R | undefined;
    for (const [id, record] of this.#all) {
      if (!id.startsWith(idOrBeginning)) continue;
      if (found !== undefined) return undefined;
      found = record;
    }
    return found;
  }

  async put(record: R): Promise<void> {
    // A changed record shares most of its parts with the one before, which makes this much cheaper than two texts.
    if (!isDeepStrictEqual(this.#all.get(record.id), record)) {
      await this.#options.fs.writeReplacing(this.#path(record.id), recordToText(record), { mode: 0o600 });
    }
    this.#all.set(record.id, record);
  }

  async remove(id: string): Promise<void> {
    await this.#options.fs.remove(this.#path(id));
    this.#all.delete(id);
  }

  #path(id: string): string {
    return `${this.#options.folder}/${id}${ENDING}`;
  }
}
