import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type FolderClaims, type FolderHolder, FolderTakenError } from '../../folder-claims.ts';
import { errnoCode } from '../sys/errno-code.ts';

const LOCK_FILE = 'nodelet.lock';
const LOCK_EX = 2;
const LOCK_NB = 4;
/** The holder writes its line right after it has locked the file: until then the file is empty or has a stale line. */
const LINE_TRIES = 50;
const LINE_TRY_MS = 10;
const LINE = /^(\d+) (agent|image command)\n$/;

/** By flock(2) on a file that is never removed: two processes could each lock a file of the same name otherwise. */
export const linuxFolderClaims: FolderClaims = {
  async claim(folder, use) {
    const handle = await open(join(folder, LOCK_FILE), constants.O_RDWR | constants.O_CREAT, 0o600);
    try {
      await lock(handle, folder);
      await handle.truncate();
      await handle.write(`${process.pid} ${use}\n`, 0);
    } catch (error) {
      await handle.close();
      throw error;
    }
    return {
      async [Symbol.asyncDispose]() {
        try {
          await handle.truncate();
        } finally {
          await handle.close();
        }
      },
    };
  },
};

async function lock(handle: FileHandle, folder: string): Promise<void> {
  // Loading the foreign function interface takes time, and many commands never need it.
  const { flock } = await import('../sys/file-calls.ts');
  for (let tries = 1; ; tries++) {
    try {
      await flock.async(handle.fd, LOCK_EX | LOCK_NB);
      return;
    } catch (error) {
      if (errnoCode(error) !== 'EAGAIN') throw error;
      const holder = await holderIn(handle);
      if (holder !== undefined) throw new FolderTakenError(folder, holder, { cause: error });
      const unknown = { pid: undefined, use: 'agent' } as const;
      if (tries === LINE_TRIES) throw new FolderTakenError(folder, unknown, { cause: error });
      await delay(LINE_TRY_MS);
    }
  }
}

/** `undefined`: the holder has not written its line yet. */
async function holderIn(handle: FileHandle): Promise<FolderHolder | undefined> {
  const buffer = Buffer.alloc(64);
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
  const [, pid, use] = LINE.exec(buffer.toString('latin1', 0, bytesRead)) ?? [];
  if (pid === undefined || !isAlive(Number(pid))) return undefined;
  return { pid: Number(pid), use: use === 'image command' ? use : 'agent' };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoCode(error) !== 'ESRCH';
  }
}
