import { constants } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, realpath, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { FileSystemError } from '../../file-system.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { unlessMissing } from './unless-missing.ts';

/** open(2): a handle on the place itself. Nothing is read, a pipe without a writer does not block. Node has no name for it. */
const O_PATH = 0o10000000;
const OPEN_PLACE = O_PATH | constants.O_NOFOLLOW;
const OPEN_FOLDER = OPEN_PLACE | constants.O_DIRECTORY;

/**
 * Opens what `path` leads to below `root`, as a place to bind from. Links are resolved first, as text; the result is then
 * entered folder by folder without following any. So a link that appears meanwhile makes the call fail (ELOOP), and
 * never leads anywhere else.
 */
export async function openBeneath(root: string, path: string): Promise<FileHandle> {
  const realRoot = await realpath(root);
  const way = namesIn(relative(realRoot, await realpath(join(realRoot, path))));
  if (way.includes('..')) throw new FileSystemError('EXDEV', 'open', `${root}/${path}`);
  let place = await open(realRoot, way.length > 0 ? OPEN_FOLDER : OPEN_PLACE);
  for (const name of way) place = await stepInto(place, name, OPEN_PLACE);
  return place;
}

/** Makes the folders of `path` that are missing below `root`, without ever leaving it. */
export async function makeDirectoryBeneath(root: string, path: string, mode: number): Promise<void> {
  const names = namesIn(path);
  if (names.includes('..')) throw new FileSystemError('EXDEV', 'makeDirectory', `${root}/${path}`);
  const found = await existing(root, names);
  let place = await openBeneath(root, found.join('/'));
  try {
    for (const name of names.slice(found.length)) {
      const isNew = await makeOne(place, name, mode);
      place = await stepInto(place, name, OPEN_FOLDER);
      if (isNew) await chmod(`/proc/self/fd/${place.fd}`, mode); // mkdir(2) takes the umask off
    }
  } finally {
    await place.close();
  }
}

/** The names of the way that lead somewhere, through links too. */
async function existing(root: string, names: readonly string[]): Promise<readonly string[]> {
  for (const [index] of names.entries()) {
    const way = names.slice(0, index + 1);
    if ((await unlessMissing(stat(join(root, ...way)))) === undefined) return names.slice(0, index);
  }
  return names;
}

/** Whether it was made; somebody may have been faster, with a folder or with something that cannot be entered. */
async function makeOne(parent: FileHandle, name: string, mode: number): Promise<boolean> {
  try {
    await mkdir(`/proc/self/fd/${parent.fd}/${name}`, mode);
    return true;
  } catch (error) {
    if (errnoCode(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Goes on to a name in a folder; the handle of the folder is closed. A name below /proc/self/fd is openat(2)'s. */
async function stepInto(parent: FileHandle, name: string, flags: number): Promise<FileHandle> {
  const path = `/proc/self/fd/${parent.fd}/${name}`;
  try {
    const child = await open(path, flags);
    if (!(await child.stat()).isSymbolicLink()) return child;
    await child.close();
    throw new FileSystemError('ELOOP', 'open', name);
  } finally {
    await parent.close();
  }
}

function namesIn(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}
