import { open } from 'node:fs/promises';
import { Sequencer } from '../../../base/sequencer.ts';

const LOCK_EX = 2;
/** Only one of us waits for the kernel's lock: waiting takes a thread of Node's pool, and who holds it needs one too. */
const turns = new Sequencer();

/** Does `work` while no other process that asks here does any for the same folder. The lock goes with a process that dies. */
export function withFolderLock<T>(folder: string, work: () => Promise<T>): Promise<T> {
  return turns.run(folder, async () => {
    const handle = await open(folder, 'r');
    try {
      // Loading the foreign function interface takes a while, and many commands never need it.
      const { flock } = await import('../sys/libc.ts');
      await flock(handle.fd, LOCK_EX);
      return await work();
    } finally {
      await handle.close();
    }
  });
}
