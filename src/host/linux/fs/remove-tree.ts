import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, readFile, realpath, rename, rmdir, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { inGroups } from '../../../base/in-groups.ts';
import { fileNameOf } from '../../file-name.ts';
import { FileSystemError } from '../../file-system.ts';
import { parseMountinfo } from '../proc/mountinfo.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { type Place, placeIn } from '../sys/tree-place.ts';
import { unlessMissing } from './unless-missing.ts';

const OPEN_DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Files of a folder that go side by side: each takes its turn in Node's pool, and most of that is waiting. */
const AT_ONCE = 64;

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
  await removeTop(folder.fd, basename(path), { device: dev, shown: path });
}

/** The same for a name in an open folder, in which nothing is mounted. */
export async function removeIn(folder: number, name: string, shown: string): Promise<void> {
  const place = placeIn(folder, name);
  const top = await unlessMissing(lstat(place));
  if (top === undefined) return;
  if (top.isDirectory()) await removeTop(folder, name, { device: top.dev, shown });
  else await unlessMissing(unlink(place));
}

/** How many folders are held open at once: a tree may be deeper than there are descriptors. */
const DEEPEST = 32;
const MOVED_PREFIX = '.deep-';

interface Removal {
  readonly device: number;
  /** Where folders go that lie too deep, to be removed from there. */
  readonly top: FileHandle;
  readonly depth: number;
  /** For error messages. */
  readonly shown: string;
}

async function removeTop(parent: number, name: string, removal: Pick<Removal, 'device' | 'shown'>): Promise<void> {
  const path = placeIn(parent, name);
  const top = await unlessMissing(open(path, OPEN_DIRECTORY));
  if (top === undefined) return;
  try {
    while ((await empty(top, { ...removal, top, depth: 1 })) === 'again');
  } finally {
    await top.close();
  }
  try {
    await unlessMissing(rmdir(path));
  } catch (error) {
    const left = errnoCode(error) === 'ENOTEMPTY' ? await unlessMissing(readdir(path)) : [];
    if (!left?.some((each) => each.startsWith(MOVED_PREFIX))) throw error;
    // Somebody who removes the same tree has moved it there meanwhile.
    await removeTop(parent, name, removal);
  }
}

/** What somebody else has removed meanwhile is fine. */
async function removeDirectory(parent: FileHandle, name: string, removal: Removal): Promise<Emptied> {
  const path = placeIn(parent.fd, name);
  if (removal.depth > DEEPEST) return moveUp(path, removal.top);
  const folder = await unlessMissing(open(path, OPEN_DIRECTORY));
  if (folder === undefined) return 'done';
  let emptied: Emptied;
  try {
    emptied = await empty(folder, removal);
  } finally {
    await folder.close();
  }
  await unlessMissing(rmdir(path));
  return emptied;
}

/** `again`: something was moved to the top. */
type Emptied = 'done' | 'again';

async function empty(folder: FileHandle, removal: Removal): Promise<Emptied> {
  const { dev } = await folder.stat();
  if (dev !== removal.device) throw new FileSystemError('EBUSY', 'removeTree', removal.shown);
  const listed = readdir(placeIn(folder.fd, '.'), { withFileTypes: true, encoding: 'buffer' });
  const entries = (await unlessMissing(listed)) ?? [];
  const files = entries.filter((entry) => !entry.isDirectory());
  await inGroups(files, AT_ONCE, ({ name }) => unlessMissing(unlink(placeIn(folder.fd, fileNameOf(name)))));
  let emptied: Emptied = 'done';
  for (const entry of entries) {
    if (!entry.isDirectory()) continue;
    const name = fileNameOf(entry.name);
    const inner = { ...removal, depth: removal.depth + 1, shown: `${removal.shown}/${name}` };
    if ((await removeDirectory(folder, name, inner)) === 'again') emptied = 'again';
  }
  return emptied;
}

/** A name that nobody can have guessed, so that nothing is in the way. */
async function moveUp(path: Place, top: FileHandle): Promise<Emptied> {
  await unlessMissing(rename(path, placeIn(top.fd, `${MOVED_PREFIX}${randomUUID()}`)));
  return 'again';
}

/** A bind mount of the same device looks like any folder: only the mount table tells it. */
async function refuseMountPoints(path: string): Promise<void> {
  const mounts = parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8'));
  const inside = mounts.find(({ target }) => target === path || target.startsWith(`${path}/`));
  if (inside) throw new FileSystemError('EBUSY', 'removeTree', inside.target);
}
