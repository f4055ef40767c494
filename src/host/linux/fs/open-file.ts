import { Buffer } from 'node:buffer';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { type FileStat, FileSystemError, type OpenFile } from '../../file-system.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { openBeneath } from './beneath.ts';

/** open(2): a handle on the path that does not open the file. Node.js has no constant for it. */
const O_PATH = 0o10000000;
/** Only regular files are opened with these; `O_NONBLOCK` is for a file with a lease, which would block. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Checks the kind before opening: opening a device may have effects (a watchdog starts, a tape rewinds). */
export async function openFile(
  path: string,
  asFileStat: (stats: Stats) => FileStat,
  { followLink = true, shownPath = path }: { readonly followLink?: boolean; readonly shownPath?: string } = {},
): Promise<OpenFile> {
  const handle = await open(path, O_PATH | (followLink ? 0 : constants.O_NOFOLLOW));
  try {
    return await reopenFile(handle, shownPath, asFileStat);
  } finally {
    await handle.close();
  }
}

export async function openFileBeneath(
  root: string,
  path: string,
  asFileStat: (stats: Stats) => FileStat,
): Promise<OpenFile> {
  const handle = await openBeneath(root, path);
  try {
    return await reopenFile(handle, `${root}/${path}`, asFileStat);
  } finally {
    await handle.close();
  }
}

/** Opening /proc/self/fd opens the file of the handle, even if its name now belongs to another file. */
async function reopenFile(
  handle: FileHandle,
  shownPath: string,
  asFileStat: (stats: Stats) => FileStat,
): Promise<OpenFile> {
  const stats = await handle.stat();
  if (stats.isSymbolicLink()) throw new FileSystemError('ELOOP', 'open', shownPath);
  if (stats.isDirectory()) throw new FileSystemError('EISDIR', 'open', shownPath);
  if (!stats.isFile()) throw new FileSystemError('ENXIO', 'open', shownPath);
  const file = await open(`/proc/self/fd/${handle.fd}`, FLAGS);
  const attempt = <T>(operation: string, work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw new FileSystemError(errnoCode(error) ?? 'EIO', operation, shownPath, { cause: error });
    });
  return {
    stat: () => attempt('stat', file.stat().then(asFileStat)),
    read: (offset, length) => attempt('read', readRange(file, offset, length)),
    [Symbol.asyncDispose]: () => file.close(),
  };
}

export async function readRange(file: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(Buffer.allocUnsafeSlow(length).buffer); // only the bytes that were read are returned
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
