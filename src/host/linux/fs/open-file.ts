import { Buffer } from 'node:buffer';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { type FileStat, FileSystemError, type OpenFile } from '../../file-system.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { openBeneath } from './beneath.ts';

/** A pipe without a writer would hold the caller up, and a terminal could become this process's own. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

export async function openFile(
  path: string,
  asFileStat: (stats: Stats) => FileStat,
  { followLink = true, shownAs = path }: { readonly followLink?: boolean; readonly shownAs?: string } = {},
): Promise<OpenFile> {
  const file = await open(path, FLAGS | (followLink ? 0 : constants.O_NOFOLLOW));
  try {
    const stats = await file.stat();
    if (stats.isDirectory()) throw new FileSystemError('EISDIR', 'open', shownAs);
    if (!stats.isFile()) throw new FileSystemError('ENXIO', 'open', shownAs);
  } catch (error) {
    await file.close();
    throw error;
  }
  const told = <T>(operation: string, work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw new FileSystemError(errnoCode(error) ?? 'EIO', operation, shownAs, { cause: error });
    });
  return {
    stat: () => told('stat', file.stat().then(asFileStat)),
    read: (offset, length) => told('read', readRange(file, offset, length)),
    [Symbol.asyncDispose]: () => file.close(),
  };
}

export async function openFileBeneath(
  root: string,
  path: string,
  asFileStat: (stats: Stats) => FileStat,
): Promise<OpenFile> {
  const place = await openBeneath(root, path);
  try {
    // A name below /proc/self/fd leads to what is open, whatever has its name by now.
    return await openFile(`/proc/self/fd/${place.fd}`, asFileStat, { shownAs: `${root}/${path}` });
  } finally {
    await place.close();
  }
}

export async function readRange(file: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(Buffer.allocUnsafeSlow(length).buffer); // only what was read is handed on
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
