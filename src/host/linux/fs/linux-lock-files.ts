import { closeSync, constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { FileSystemError } from '../../file-system.ts';
import type { LockedFile, LockFiles } from '../../lock-files.ts';
import { errnoCode } from '../sys/errno-code.ts';

const LOCK_EX = 2;
const LOCK_NB = 4;
const IN_OPEN = 0x20;
const IN_DELETE_SELF = 0x400;
/** A blocking flock(2) would take a thread of Node's pool for as long as it waits, and could not be aborted. */
const RETRY_MS = 100;

export const linuxLockFiles: LockFiles = {
  async acquire(path, signal) {
    const handle = await openLockFile(path);
    try {
      await lock(handle, path, signal);
    } catch (error) {
      await handle.close();
      throw error;
    }
    return lockedFile(handle, path);
  },
};

function lockedFile(handle: FileHandle, path: string): LockedFile {
  return {
    async untilContended(signal) {
      // Loading the foreign function interface takes time, and most processes never need it.
      const [{ openInotify }, { untilHangUpOrData }] = await Promise.all([
        import('../sys/event-calls.ts'),
        import('../sys/descriptor-stream.ts'),
      ]);
      signal.throwIfAborted();
      const fd = attempt(path, () => openInotify(path, IN_OPEN | IN_DELETE_SELF));
      try {
        await untilHangUpOrData(fd, signal);
      } finally {
        closeSync(fd);
      }
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

async function openLockFile(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDWR | constants.O_CREAT, 0o600).catch((error: unknown) => {
    throw asLockError(error, path);
  });
}

async function lock({ fd }: FileHandle, path: string, signal: AbortSignal): Promise<void> {
  const { flock } = await import('../sys/file-calls.ts');
  for (;;) {
    signal.throwIfAborted();
    try {
      await flock.async(fd, LOCK_EX | LOCK_NB);
      return;
    } catch (error) {
      if (errnoCode(error) !== 'EAGAIN') throw asLockError(error, path);
    }
    await delay(RETRY_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

function attempt<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw asLockError(error, path);
  }
}

function asLockError(error: unknown, path: string): FileSystemError {
  return new FileSystemError(errnoCode(error) ?? 'EIO', 'lock', path, { cause: error });
}
