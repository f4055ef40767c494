import { constants } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, realpath, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { FileSystemError } from '../../file-system.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { unlessMissing } from './unless-missing.ts';

/** open(2): a handle that cannot be read; a pipe without a writer does not block. Node.js has no constant for it. */
const O_PATH = 0o10000000;
const OPEN_PATH = O_PATH | constants.O_NOFOLLOW;
const OPEN_FOLDER = OPEN_PATH | constants.O_DIRECTORY;

/**
 * Opens `path` below `root` with `O_PATH`. Links are resolved first, as text; the result is then opened folder by folder
 * without following links. A link that appears meanwhile makes the call fail (ELOOP) and is never followed.
 */
export async function openBeneath(root: string, path: string): Promise<FileHandle> {
  const realRoot = await realpath(root);
  const names = splitNames(relative(realRoot, await realpath(join(realRoot, path))));
  if (names.includes('..')) throw new FileSystemError('EXDEV', 'open', `${root}/${path}`);
  let handle = await open(realRoot, names.length > 0 ? OPEN_FOLDER : OPEN_PATH);
  for (const name of names) handle = await openIn(handle, name, OPEN_PATH);
  return handle;
}

/** Creates the missing folders of `path` below `root`, without ever leaving it. */
export async function makeDirectoryBeneath(root: string, path: string, mode: number): Promise<void> {
  const names = splitNames(path);
  if (names.includes('..')) throw new FileSystemError('EXDEV', 'makeDirectory', `${root}/${path}`);
  const found = await existingPrefix(root, names);
  let handle = await openBeneath(root, found.join('/'));
  try {
    for (const name of names.slice(found.length)) {
      const isNew = await makeOne(handle, name, mode);
      handle = await openIn(handle, name, OPEN_FOLDER);
      if (isNew) await chmod(`/proc/self/fd/${handle.fd}`, mode); // mkdir(2) applies the umask
    }
  } finally {
    await handle.close();
  }
}

/** The leading names that exist, through links too. */
async function existingPrefix(root: string, names: readonly string[]): Promise<readonly string[]> {
  for (const [index] of names.entries()) {
    const prefix = names.slice(0, index + 1);
    if ((await unlessMissing(stat(join(root, ...prefix)))) === undefined) return names.slice(0, index);
  }
  return names;
}

/** `false`: it exists by now, as a folder or as anything else. */
async function makeOne(parent: FileHandle, name: string, mode: number): Promise<boolean> {
  try {
    await mkdir(`/proc/self/fd/${parent.fd}/${name}`, mode);
    return true;
  } catch (error) {
    if (errnoCode(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Opens a name in a folder and closes the folder's handle. A path below /proc/self/fd works like openat(2). */
async function openIn(parent: FileHandle, name: string, flags: number): Promise<FileHandle> {
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

function splitNames(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}
