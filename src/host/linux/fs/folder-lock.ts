import { open } from 'node:fs/promises';
import { KeyedMutex } from '../../../base/keyed-mutex.ts';

const LOCK_EX = 2;
/** One waiting flock(2) at a time: waiting takes a thread of Node's pool, and the holder of the lock needs one too. */
const turns = new KeyedMutex();

/** Runs `work` under an exclusive flock(2) on the folder. The kernel releases the lock of a process that dies. */
export function withFolderLock<T>(folder: string, work: () => Promise<T>): Promise<T> {
  return turns.run(folder, async () => {
    const handle = await open(folder, 'r');
    try {
      // Loading the foreign function interface takes time, and many commands never need it.
      const { flock } = await import('../sys/file-calls.ts');
      await flock.async(handle.fd, LOCK_EX);
      return await work();
    } finally {
      await handle.close();
    }
  });
}
