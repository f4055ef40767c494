import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { type FolderClaims, FolderTakenError } from '../../folder-claims.ts';
import { errnoCode } from '../sys/errno-code.ts';

const LOCK_FILE = 'nodelet.lock';
const LOCK_EX = 2;
const LOCK_NB = 4;

/** By flock(2) on a file that stays: removing it would let two have it, each under the same name. */
export const linuxFolderClaims: FolderClaims = {
  async claim(folder) {
    const handle = await open(join(folder, LOCK_FILE), constants.O_RDWR | constants.O_CREAT, 0o600);
    try {
      await lock(handle, folder);
      await handle.truncate();
      await handle.write(`${process.pid}\n`, 0);
    } catch (error) {
      await handle.close();
      throw error;
    }
    return { [Symbol.asyncDispose]: () => handle.close() };
  },
};

async function lock(handle: FileHandle, folder: string): Promise<void> {
  // Loading the foreign function interface takes a while, and many commands never need it.
  const { flock } = await import('../sys/libc.ts');
  try {
    await flock(handle.fd, LOCK_EX | LOCK_NB);
  } catch (error) {
    if (errnoCode(error) !== 'EAGAIN') throw error;
    const pid = Number.parseInt(await handle.readFile('utf8'), 10);
    throw new FolderTakenError(folder, Number.isNaN(pid) ? undefined : pid, { cause: error });
  }
}
