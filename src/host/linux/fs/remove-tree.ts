import { constants } from 'node:fs';
import { lstat, open, readFile, realpath, rmdir, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { mapInBatches } from '../../../base/map-in-batches.ts';
import { FileSystemError } from '../../file-system.ts';
import { parseMountinfo } from '../proc/mountinfo.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { type KernelPath, pathInFolder } from '../sys/kernel-path.ts';
import { type FolderEntry, placeOfEntry } from './folder-entries.ts';
import { unlessMissing } from './unless-missing.ts';
import { walkTree } from './walk-tree.ts';

const OPEN_DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Files of a folder that go side by side: each takes its turn in Node's pool, and most of that is waiting. */
const AT_ONCE = 64;
/** A tree into which something is still written is walked as often. */
const MOST_ROUNDS = 10;

/**
 * Removes a tree without following a link and without entering another file system, also while it is changed: every
 * folder is held open, and names are looked up below /proc/self/fd, which is what openat(2) does. Folders of any number
 * of entries and trees of any depth are removed batch by batch.
 */
export async function removeTree(path: string, signal?: AbortSignal): Promise<void> {
  const top = await unlessMissing(lstat(path));
  if (top === undefined) return;
  if (!top.isDirectory()) {
    await unlessMissing(unlink(path));
    return;
  }

  const parent = await realpath(dirname(path));
  await refuseMountPoints(join(parent, basename(path)));
  await using folder = await open(parent, OPEN_DIRECTORY);
  // The parent's device: so `path` itself may not be a mount point either.
  const { dev } = await folder.stat();
  await removeFolder(pathInFolder(folder.fd, basename(path)), { device: dev, shown: path }, signal);
}

/** The same for a name in an open folder, in which nothing is mounted. */
export async function removeIn(folder: number, name: string, shown: string): Promise<void> {
  const place = pathInFolder(folder, name);
  const top = await unlessMissing(lstat(place));
  if (top === undefined) return;
  if (top.isDirectory()) await removeFolder(place, { device: top.dev, shown });
  else await unlessMissing(unlink(place));
}

/** The same for all that is in an open folder, which itself stays. */
export async function removeAllIn(folder: number, shown: string): Promise<void> {
  const place = pathInFolder(folder, '.');
  const { dev } = await lstat(place);
  await empty(place, { device: dev, shown });
}

interface Removal {
  readonly device: number;
  /** For error messages. */
  readonly shown: string;
}

async function removeFolder(place: KernelPath, removal: Removal, signal?: AbortSignal): Promise<void> {
  for (let round = 1; ; round++) {
    await empty(place, removal, signal);
    try {
      await unlessMissing(rmdir(place));
      return;
    } catch (error) {
      if (errnoCode(error) !== 'ENOTEMPTY' || round === MOST_ROUNDS) throw error;
    }
  }
}

/** Removes what is there now. What others remove or add meanwhile is fine. */
async function empty(place: KernelPath, { device, shown }: Removal, signal?: AbortSignal): Promise<void> {
  for await (const event of walkTree(place, { order: 'any' }, signal)) {
    switch (event.kind) {
      case 'enter':
        if (event.stats.dev === device) break;
        throw new FileSystemError('EBUSY', 'removeTree', event.path === '' ? shown : `${shown}/${event.path}`);
      case 'entries':
        await unlinkAll(event.folder, event.entries);
        break;
      case 'leave':
        await unless('ENOTEMPTY', unlessMissing(rmdir(placeOfEntry(event.parent, event.name))));
    }
  }
}

/** A folder that has taken the place of a file is removed in the next round. */
async function unlinkAll(folder: number, entries: readonly FolderEntry[]): Promise<void> {
  await mapInBatches(entries, AT_ONCE, ({ name }) =>
    unless('EISDIR', unlessMissing(unlink(placeOfEntry(folder, name)))),
  );
}

async function unless(code: string, result: Promise<void>): Promise<void> {
  try {
    await result;
  } catch (error) {
    if (errnoCode(error) !== code) throw error;
  }
}

/** A bind mount of the same device looks like any folder: only the mount table shows it. */
async function refuseMountPoints(path: string): Promise<void> {
  const mounts = parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8'));
  const inside = mounts.find(({ target }) => target === path || target.startsWith(`${path}/`));
  if (inside) throw new FileSystemError('EBUSY', 'removeTree', inside.target);
}
