import { type Dir, type Dirent, opendirSync } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { fileNameOf } from '../../file-name.ts';
import { type KernelPath, pathInFolder } from '../sys/kernel-path.ts';
import { syncWhileFast } from './sync-while-fast.ts';
import { unlessMissing } from './unless-missing.ts';

/** Entries per batch. The event loop gets a turn between two batches. */
export const BATCH_ENTRIES = 256;
/** Node's buffer: 16 bytes per entry until the `Dir` is collected. With 256 entries, 200,000 folders took 150 MB. */
const CALL_ENTRIES = 64;

export interface FolderEntry {
  /** The bytes of the name, one character each, so that comparing strings compares bytes. */
  readonly name: string;
  readonly isFolder: boolean;
}

/** Supported by Node.js, but missing in its types. */
const AS_BYTES = 'buffer' as string as BufferEncoding;
const NOT_ASCII = /[^\0-\x7f]/;

/**
 * Reads the entries of an open folder in batches of at most `BATCH_ENTRIES`, in the filesystem's order. Containers decide
 * how many there are, so at most one batch is in memory. Entries may be removed meanwhile.
 */
export async function* readEntries(folder: number): AsyncGenerator<readonly FolderEntry[], void, void> {
  const path = pathInFolder(folder, '.');
  const options = { bufferSize: CALL_ENTRIES, encoding: AS_BYTES };
  const opening = syncWhileFast(
    () => opendirSync(path, options),
    () => opendir(path, options),
  );
  const listed = await unlessMissing(opening);
  if (listed === undefined) return;
  try {
    // Most folders are small, and the pool would take ten times as long. Further batches of large ones use the pool.
    let batch = await syncWhileFast(
      () => readBatchSync(listed),
      () => readBatch(listed),
    );
    for (; batch.length === BATCH_ENTRIES; batch = await readBatch(listed)) yield batch;
    if (batch.length > 0) yield batch;
  } finally {
    await syncWhileFast(
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

/** On the pool. */
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

/** The path of an entry of an open folder. */
export function entryPath(folder: number, name: string): KernelPath {
  const path = `/proc/self/fd/${folder}/${name}`;
  return NOT_ASCII.test(name) ? Buffer.from(path, 'latin1') : path;
}

/** The name of an entry as decoded by `fileNameOf`. */
export function entryName(name: string): string {
  return NOT_ASCII.test(name) ? fileNameOf(Buffer.from(name, 'latin1')) : name;
}

function bytesAsText(name: string | Buffer): string {
  return (typeof name === 'string' ? Buffer.from(name) : name).toString('latin1');
}
