import { Buffer } from 'node:buffer';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { type FileStat, FileSystemError, type OpenFile } from '../../file-system.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { openBeneath } from './beneath.ts';

/** open(2): a handle on the place itself, and nothing of it is opened. Node has no name for it. */
const O_PATH = 0o10000000;
/** A pipe or a device never gets here; a file that a lease is on would hold the caller up. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Looks what it is before it is opened: to open a device may do something (a watchdog starts, a tape rewinds). */
export async function openFile(
  path: string,
  asFileStat: (stats: Stats) => FileStat,
  { followLink = true, shownAs = path }: { readonly followLink?: boolean; readonly shownAs?: string } = {},
): Promise<OpenFile> {
  const place = await open(path, O_PATH | (followLink ? 0 : constants.O_NOFOLLOW));
  try {
    return await openPlace(place, shownAs, asFileStat);
  } finally {
    await place.close();
  }
}

export async function openFileBeneath(
  root: string,
  path: string,
  asFileStat: (stats: Stats) => FileStat,
): Promise<OpenFile> {
  const place = await openBeneath(root, path);
  try {
    return await openPlace(place, `${root}/${path}`, asFileStat);
  } finally {
    await place.close();
  }
}

/** A name below /proc/self/fd leads to what the handle holds, whatever has its name by now. */
async function openPlace(
  place: FileHandle,
  shownAs: string,
  asFileStat: (stats: Stats) => FileStat,
): Promise<OpenFile> {
  const stats = await place.stat();
  if (stats.isSymbolicLink()) throw new FileSystemError('ELOOP', 'open', shownAs);
  if (stats.isDirectory()) throw new FileSystemError('EISDIR', 'open', shownAs);
  if (!stats.isFile()) throw new FileSystemError('ENXIO', 'open', shownAs);
  const file = await open(`/proc/self/fd/${place.fd}`, FLAGS);
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
