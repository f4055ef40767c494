import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, readFile, realpath, rmdir, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { FileSystemError } from '../file-system.ts';
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
  await removeDirectory(folder, basename(path), { device: dev, shown: path });
}

interface Place {
  readonly device: number;
  /** For error messages. */
  readonly shown: string;
}

/** What somebody else has removed meanwhile is fine. */
async function removeDirectory(parent: FileHandle, name: string, place: Place): Promise<void> {
  const path = below(parent, name);
  const folder = await unlessMissing(open(path, OPEN_DIRECTORY));
  if (folder === undefined) return;
  try {
    await empty(folder, place);
  } finally {
    await folder.close();
  }
  await unlessMissing(rmdir(path));
}

async function empty(folder: FileHandle, { device, shown }: Place): Promise<void> {
  const { dev } = await folder.stat();
  if (dev !== device) throw new FileSystemError('EBUSY', 'removeTree', shown);
  const entries = await unlessMissing(readdir(below(folder, '.'), { withFileTypes: true }));
  for (const entry of entries ?? []) {
    if (entry.isDirectory()) await removeDirectory(folder, entry.name, { device, shown: join(shown, entry.name) });
    else await unlessMissing(unlink(below(folder, entry.name)));
  }
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
