import { join } from 'node:path';
import { CgroupBusyError } from '../../cgroups.ts';
import type { Clock } from '../../clock.ts';
import { type FileSystem, FileSystemError } from '../../file-system.ts';

/** The kernel frees a cgroup some time after its last process has ended; rmdir(2) fails until then. */
const REMOVE_ATTEMPTS = 8;
const FIRST_PAUSE_MS = 1;

const NEVER = new AbortController().signal;

/** Names of the cgroups directly below a folder of a hierarchy; empty when it does not exist. */
export async function childCgroups(fs: FileSystem, folder: string): Promise<string[]> {
  try {
    const entries = await fs.readDirectory(folder);
    return entries.filter(({ kind }) => kind === 'directory').map(({ name }) => name);
  } catch (error) {
    return unlessGone(error, []);
  }
}

/** Pids in a folder of a hierarchy and below it. */
export async function processesBelow(fs: FileSystem, folder: string): Promise<number[]> {
  const lists: number[][] = [];
  for (const each of await foldersBelow(fs, folder)) lists.push(await processesIn(fs, each));
  return lists.flat();
}

/** A folder of a hierarchy and all below it, each after its parent. Containers decide how many and how deep they are. */
async function foldersBelow(fs: FileSystem, folder: string): Promise<readonly string[]> {
  const found = [folder];
  for (const parent of found) {
    for (const name of await childCgroups(fs, parent)) found.push(join(parent, name));
  }
  return found;
}

/** Pids in a folder of a hierarchy; none when it does not exist. */
export async function processesIn(fs: FileSystem, folder: string): Promise<number[]> {
  try {
    const text = await fs.readText(join(folder, 'cgroup.procs'));
    return text.split('\n').filter(Boolean).map(Number);
  } catch (error) {
    // EOPNOTSUPP: the processes of a threaded v2 cgroup are listed in its domain cgroup.
    if (error instanceof FileSystemError && error.code === 'EOPNOTSUPP') return [];
    return unlessGone(error, []);
  }
}

/** Removes a folder of a hierarchy with everything below it, the deepest first. */
export async function removeBelow(fs: FileSystem, clock: Clock, folder: string): Promise<void> {
  for (const each of (await foldersBelow(fs, folder)).toReversed()) await removeOne(fs, clock, each);
}

async function removeOne(fs: FileSystem, clock: Clock, folder: string): Promise<void> {
  for (let attempt = 1, pauseMs = FIRST_PAUSE_MS; ; attempt++, pauseMs *= 3) {
    try {
      return await fs.remove(folder);
    } catch (error) {
      const isBusy = error instanceof FileSystemError && error.code === 'EBUSY';
      if (!isBusy || attempt === REMOVE_ATTEMPTS) throw error;
      const pids = await processesBelow(fs, folder);
      if (pids.length > 0) throw new CgroupBusyError(folder, pids);
    }
    await clock.sleep(pauseMs, NEVER);
  }
}

/** A cgroup may be removed with its files at any time; kernfs returns ENODEV for a file that is still open. */
function unlessGone<T>(error: unknown, fallback: T): T {
  if (error instanceof FileSystemError && ['ENOENT', 'ENOTDIR', 'ENODEV'].includes(error.code)) return fallback;
  throw error;
}
