import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, readFile, realpath, rename, rmdir, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { FileSystemError } from '../file-system.ts';
import { errnoCode } from './errno-code.ts';
import { parseMountinfo } from './mountinfo.ts';
import { unlessMissing } from './unless-missing.ts';

const OPEN_DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Removes a tree without following a link and without entering another file system, also while somebody changes the
 * tree: every folder is held open, and names are looked up below /proc/self/fd, which is what openat(2) does.
 */
export async function removeTree(path: string): Promise<void> {
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
  await removeTop(folder, basename(path), { device: dev, shown: path });
}

/** How many folders are held open at once: a tree may be deeper than there are descriptors. */
const DEEPEST = 32;
const MOVED_PREFIX = '.deep-';

interface Place {
  readonly device: number;
  /** Where folders go that lie too deep, to be removed from there. */
  readonly top: FileHandle;
  readonly depth: number;
  /** For error messages. */
  readonly shown: string;
}

async function removeTop(parent: FileHandle, name: string, place: Pick<Place, 'device' | 'shown'>): Promise<void> {
  const path = below(parent, name);
  const top = await unlessMissing(open(path, OPEN_DIRECTORY));
  if (top === undefined) return;
  try {
    while ((await empty(top, { ...place, top, depth: 1 })) === 'again');
  } finally {
    await top.close();
  }
  try {
    await unlessMissing(rmdir(path));
  } catch (error) {
    const left = errnoCode(error) === 'ENOTEMPTY' ? await unlessMissing(readdir(path)) : [];
    if (!left?.some((each) => each.startsWith(MOVED_PREFIX))) throw error;
    // Somebody who removes the same tree has moved it there meanwhile.
    await removeTop(parent, name, place);
  }
}

/** What somebody else has removed meanwhile is fine. */
async function removeDirectory(parent: FileHandle, name: string, place: Place): Promise<Emptied> {
  if (place.depth > DEEPEST) return moveUp(below(parent, name), place.top);
  const path = below(parent, name);
  const folder = await unlessMissing(open(path, OPEN_DIRECTORY));
  if (folder === undefined) return 'done';
  let emptied: Emptied;
  try {
    emptied = await empty(folder, place);
  } finally {
    await folder.close();
  }
  await unlessMissing(rmdir(path));
  return emptied;
}

/** `again`: something was moved to the top. */
type Emptied = 'done' | 'again';

async function empty(folder: FileHandle, place: Place): Promise<Emptied> {
  const { dev } = await folder.stat();
  if (dev !== place.device) throw new FileSystemError('EBUSY', 'removeTree', place.shown);
  const entries = await unlessMissing(readdir(below(folder, '.'), { withFileTypes: true }));
  let emptied: Emptied = 'done';
  for (const entry of entries ?? []) {
    if (!entry.isDirectory()) {
      await unlessMissing(unlink(below(folder, entry.name)));
      continue;
    }
    const inner = { ...place, depth: place.depth + 1, shown: join(place.shown, entry.name) };
    if ((await removeDirectory(folder, entry.name, inner)) === 'again') emptied = 'again';
  }
  return emptied;
}

/** A name that nobody can have guessed, so that nothing is in the way. */
async function moveUp(path: string, top: FileHandle): Promise<Emptied> {
  await unlessMissing(rename(path, below(top, `${MOVED_PREFIX}${randomUUID()}`)));
  return 'again';
}

function below(folder: FileHandle, name: string): string {
  return `/proc/self/fd/${folder.fd}/${name}`;
}

/** A bind mount of the same device looks like any folder: only the mount table tells it. */
async function refuseMountPoints(path: string): Promise<void> {
  const mounts = parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8'));
  const inside = mounts.find(({ target }) => target === path || target.startsWith(`${path}/`));
  if (inside) throw new FileSystemError('EBUSY', 'removeTree', inside.target);
}
