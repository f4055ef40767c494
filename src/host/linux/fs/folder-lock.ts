import { open } from 'node:fs/promises';
import { KeyedMutex } from '../../../base/keyed-mutex.ts';

const LOCK_EX = 2;
/** Only one of us waits for the kernel's lock: waiting takes a thread of Node's pool, and who holds it needs one too. */
const turns = new KeyedMutex();

/** Does `work` while no other process that asks here does any for the same folder. The lock goes with a process that dies. */
export function withFolderLock<T>(folder: string, work: () => Promise<T>): Promise<T> {
  return turns.run(folder, async () => {
    const handle = await open(folder, 'r');
    try {
      // Loading the foreign function interface takes a while, and many commands never need it.
      const { flock } = await import('../sys/file-calls.ts');
      await flock.async(handle.fd, LOCK_EX);
      return await work();
    } finally {
      await handle.close();
    }
  });
}
