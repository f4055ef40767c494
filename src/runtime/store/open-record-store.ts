import { FileSystemError } from '../../host/file-system.ts';
import { FileRecordStore, type RecordStoreOptions, recordIdFromFileName, recordPath } from './file-record-store.ts';
import type { OpenedStore } from './record-store.ts';
import { recordFromText } from './record-text.ts';

/**
 * Errors that mean this file is lost. Other errors (for example too many open files) may be temporary, and are no reason to
 * remove a pod.
 */
const UNREADABLE_CODES = new Set(['EIO', 'EUCLEAN', 'EBADMSG']);

/** Reads all records. Unreadable records are returned as `damaged`, and stay until `remove` is called for them. */
export async function openRecordStore<R extends { readonly id: string }>(
  options: RecordStoreOptions<R>,
): Promise<OpenedStore<R>> {
  const { folder, overflowFolder, fs, log } = options;
  await fs.makeDirectory(folder, 0o700);
  const [onDisk, overflow] = [await listRecordFiles(folder, options), await listOverflowFiles(options)];
  const isKnown = new Set(onDisk.ids);
  // An overflow file without a record on the disk: the record was removed.
  const removed = overflow.ids.filter((id) => !isKnown.has(id)).map((id) => recordPath(overflowFolder, id));
  const [read, changed] = await Promise.all([
    Promise.all(onDisk.ids.map((id) => readRecord(id, folder, options))),
    Promise.all(overflow.ids.filter((id) => isKnown.has(id)).map((id) => readRecord(id, overflowFolder, options))),
    Promise.all(
      [...onDisk.leftovers, ...overflow.leftovers, ...removed].map((path) => removeLeftover(path, { fs, log })),
    ),
  ]);
  const records = new Map([...read, ...changed].flatMap((record) => (record ? [[record.id, record]] : [])));
  const damaged = onDisk.ids.filter((id) => !records.has(id));
  const overflowed = overflow.ids.filter((id) => isKnown.has(id));
  return { store: new FileRecordStore(options, [...records.values()], overflowed), damaged };
}

interface RecordFiles {
  readonly ids: readonly string[];
  /** Paths of temporary files that a crash left. */
  readonly leftovers: readonly string[];
}

async function listOverflowFiles<R extends { readonly id: string }>(
  options: RecordStoreOptions<R>,
): Promise<RecordFiles> {
  const { fs, overflowFolder } = options;
  return (await fs.stat(overflowFolder)) === undefined
    ? { ids: [], leftovers: [] }
    : listRecordFiles(overflowFolder, options);
}

async function listRecordFiles<R extends { readonly id: string }>(
  folder: string,
  { fs, log }: Pick<RecordStoreOptions<R>, 'fs' | 'log'>,
): Promise<RecordFiles> {
  const entries = await fs.readDirectory(folder);
  for (const { name } of entries.filter(({ kind }) => kind !== 'file')) {
    log.warn('ignoring unexpected entry among the records', { path: `${folder}/${name}` });
  }
  const names = entries.filter(({ kind }) => kind === 'file').map(({ name }) => name);
  return {
    ids: names.map(recordIdFromFileName).filter((id) => id !== undefined),
    leftovers: names.filter((name) => recordIdFromFileName(name) === undefined).map((name) => `${folder}/${name}`),
  };
}

async function readRecord<R extends { readonly id: string }>(
  id: string,
  folder: string,
  { fs, decode, log }: RecordStoreOptions<R>,
): Promise<R | undefined> {
  const path = recordPath(folder, id);
  const text = await fs.readText(path).catch((error: unknown) => {
    if (!(error instanceof FileSystemError && UNREADABLE_CODES.has(error.code))) throw error;
    log.warn('cannot read record', { path, error });
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

async function removeLeftover(
  path: string,
  { fs, log }: Pick<RecordStoreOptions<{ readonly id: string }>, 'fs' | 'log'>,
): Promise<void> {
  await fs.remove(path).catch((error: unknown) => log.warn('cannot remove leftover file of a record', { path, error }));
}
