import { type Dir, type Dirent, opendirSync } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { fileNameOf } from '../../file-name.ts';
import { type KernelPath, pathInFolder } from '../sys/kernel-path.ts';
import { atDiskPace } from './disk-pace.ts';
import { unlessMissing } from './unless-missing.ts';

/** Read at a time. Between two batches of a folder the event loop serves everything else. */
export const BATCH_ENTRIES = 256;
/** Of one call. Node.js keeps 16 bytes for each until the folder's object is collected: with 256, 200,000 folders took 150 MB. */
const CALL_ENTRIES = 64;

export interface FolderEntry {
  /** The bytes of the name, one character each: compared as text, names are in the order of their bytes. */
  readonly name: string;
  readonly isFolder: boolean;
}

/** Node.js takes it, though its types do not name it. */
const AS_BYTES = 'buffer' as string as BufferEncoding;
const NOT_ASCII = /[^\0-\x7f]/;

/**
 * The entries of an open folder in batches of at most `BATCH_ENTRIES`, in the file system's order. A container decides
 * how many there are, so no more than one batch is in memory. Entries may be removed meanwhile.
 */
export async function* entriesOf(folder: number): AsyncGenerator<readonly FolderEntry[], void, void> {
  const place = pathInFolder(folder, '.');
  const options = { bufferSize: CALL_ENTRIES, encoding: AS_BYTES };
  const opening = atDiskPace(
    () => opendirSync(place, options),
    () => opendir(place, options),
  );
  const listed = await unlessMissing(opening);
  if (listed === undefined) return;
  try {
    // Most folders are small: the way through the pool would take ten times as long. Large ones go on there.
    let batch = await atDiskPace(
      () => readBatchSync(listed),
      () => readBatch(listed),
    );
    for (; batch.length === BATCH_ENTRIES; batch = await readBatch(listed)) yield batch;
    if (batch.length > 0) yield batch;
  } finally {
    await atDiskPace(
      () => listed.closeSync(),
      () => listed.close(),
    );
  }
}

function readBatchSync(listed: Dir): readonly FolderEntry[] {
  const batch: FolderEntry[] = [];
  while (batch.length < BATCH_ENTRIES) {
    const entry = listed.readSync();
    if (entry === null) break;
    batch.push(asEntry(entry));
  }
  return batch;
}

/** In the pool. */
async function readBatch(listed: Dir): Promise<readonly FolderEntry[]> {
  const batch: FolderEntry[] = [];
  while (batch.length < BATCH_ENTRIES) {
    const entry = await listed.read();
    if (entry === null) break;
    batch.push(asEntry(entry));
  }
  return batch;
}

function asEntry(entry: Dirent): FolderEntry {
  return { name: bytesAsText(entry.name), isFolder: entry.isDirectory() };
}

/** Where an entry of an open folder is. */
export function placeOfEntry(folder: number, name: string): KernelPath {
  const way = `/proc/self/fd/${folder}/${name}`;
  return NOT_ASCII.test(name) ? Buffer.from(way, 'latin1') : way;
}

/** The name of an entry as `fileNameOf` spells it. */
export function nameOfEntry(name: string): string {
  return NOT_ASCII.test(name) ? fileNameOf(Buffer.from(name, 'latin1')) : name;
}

function bytesAsText(name: string | Buffer): string {
  return (typeof name === 'string' ? Buffer.from(name) : name).toString('latin1');
}
