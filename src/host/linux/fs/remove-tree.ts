import { constants } from 'node:fs';
import { lstat, open, readFile, realpath, rmdir, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { mapInBatches } from '../../../base/map-in-batches.ts';
import { FileSystemError } from '../../file-system.ts';
import { parseMountinfo } from '../proc/mountinfo.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { type KernelPath, pathInFolder } from '../sys/kernel-path.ts';
import { entryPath, type FolderEntry } from './folder-entries.ts';
import { unlessMissing } from './unless-missing.ts';
import { walkTree } from './walk-tree.ts';

const OPEN_DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Files of a folder that are removed concurrently: each waits for a thread of Node's pool. */
const AT_ONCE = 64;
/** How often a tree that is still written to is walked. */
const MAX_ROUNDS = 10;

/**
 * Removes a tree without following links and without entering another filesystem, also while it is changed: every folder is
 * kept open, and names are looked up below /proc/self/fd, like openat(2). Folders of any size and trees of any depth are
 * removed batch by batch.
 */
export async function removeTree(path: string, signal?: AbortSignal): Promise<void> {
  const top = await unlessMissing(lstat(path));
  if (top === undefined) return;
  if (!top.isDirectory()) {
    await unlessMissing(unlink(path));
    return;
  }

  const parent = await realpath(dirname(path));
  await rejectMountPoints(join(parent, basename(path)));
  await using folder = await open(parent, OPEN_DIRECTORY);
  // The parent's device, so that `path` itself may not be a mount point either.
  const { dev } = await folder.stat();
  await removeFolder(pathInFolder(folder.fd, basename(path)), { device: dev, shown: path }, signal);
}

/** The same for a name in an open folder without mounts. */
export async function removeIn(folder: number, name: string, shown: string): Promise<void> {
  const path = pathInFolder(folder, name);
  const top = await unlessMissing(lstat(path));
  if (top === undefined) return;
  if (top.isDirectory()) await removeFolder(path, { device: top.dev, shown });
  else await unlessMissing(unlink(path));
}

/** The same for the content of an open folder, which itself stays. */
export async function removeAllIn(folder: number, shown: string): Promise<void> {
  const path = pathInFolder(folder, '.');
  const { dev } = await lstat(path);
  await empty(path, { device: dev, shown });
}

interface Removal {
  readonly device: number;
  /** For error messages. */
  readonly shown: string;
}

async function removeFolder(path: KernelPath, removal: Removal, signal?: AbortSignal): Promise<void> {
  for (let round = 1; ; round++) {
    await empty(path, removal, signal);
    try {
      await unlessMissing(rmdir(path));
      return;
    } catch (error) {
      if (errnoCode(error) !== 'ENOTEMPTY' || round === MAX_ROUNDS) throw error;
    }
  }
}

/** Removes the current content. Concurrent changes by other processes are not an error. */
async function empty(path: KernelPath, { device, shown }: Removal, signal?: AbortSignal): Promise<void> {
  for await (const event of walkTree(path, { order: 'any' }, signal)) {
    switch (event.kind) {
      case 'enter':
        if (event.stats.dev === device) break;
        throw new FileSystemError('EBUSY', 'removeTree', event.path === '' ? shown : `${shown}/${event.path}`);
      case 'entries':
        await unlinkAll(event.folder, event.entries);
        break;
      case 'leave':
        await unless('ENOTEMPTY', unlessMissing(rmdir(entryPath(event.parent, event.name))));
    }
  }
}

/** A folder that has replaced a file is removed in the next round. */
async function unlinkAll(folder: number, entries: readonly FolderEntry[]): Promise<void> {
  await mapInBatches(entries, AT_ONCE, ({ name }) => unless('EISDIR', unlessMissing(unlink(entryPath(folder, name)))));
}

async function unless(code: string, result: Promise<void>): Promise<void> {
  try {
    await result;
  } catch (error) {
    if (errnoCode(error) !== code) throw error;
  }
}

/** A bind mount of the same device has the same device number: only the mount table shows it. */
async function rejectMountPoints(path: string): Promise<void> {
  const mounts = parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8'));
  const inside = mounts.find(({ target }) => target === path || target.startsWith(`${path}/`));
  if (inside) throw new FileSystemError('EBUSY', 'removeTree', inside.target);
}
