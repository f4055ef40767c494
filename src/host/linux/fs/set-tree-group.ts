import { constants } from 'node:fs';
import { chmod, chown, open } from 'node:fs/promises';
import { mapInBatches } from '../../../base/map-in-batches.ts';
import type { GroupAccess } from '../../file-system.ts';
import type { KernelPath } from '../sys/kernel-path.ts';
import { entryPath } from './folder-entries.ts';
import { unlessMissing } from './unless-missing.ts';
import { walkTree } from './walk-tree.ts';

const O_PATH = 0o10000000;
/** Entries of a folder that are changed concurrently. */
const AT_ONCE = 32;

export async function setTreeGroup(root: string, access: GroupAccess, signal?: AbortSignal): Promise<void> {
  let files = 0;
  const changeAll = async (paths: readonly KernelPath[]): Promise<void> => {
    await mapInBatches(paths, AT_ONCE, (path) => changeGroup(path, access));
    files += paths.length;
    access.onProgress?.(files);
  };
  for await (const event of walkTree(root, { order: 'any' }, signal)) {
    if (event.kind === 'leave') await changeAll([entryPath(event.parent, event.name)]);
    if (event.kind === 'entries') await changeAll(event.entries.map(({ name }) => entryPath(event.folder, name)));
  }
  await changeAll([root]);
}

async function changeGroup(path: KernelPath, access: GroupAccess): Promise<void> {
  if (!access.skipsErrors) return setGroup(path, access);
  await setGroup(path, access).catch(() => undefined);
}

/** Through an `O_PATH` handle: a file that replaces it meanwhile is not changed. */
async function setGroup(path: KernelPath, access: GroupAccess): Promise<void> {
  await using handle = await unlessMissing(open(path, O_PATH | constants.O_NOFOLLOW));
  if (handle === undefined) return;
  const itself = `/proc/self/fd/${handle.fd}`;
  const stats = await handle.stat();
  const changed = chown(itself, stats.uid, access.gid);
  // The group may still be allowed to use a file that cannot be given to it, by its mode.
  await (access.skipsErrors ? changed.catch(() => undefined) : changed);
  if (stats.isSymbolicLink()) return; // chmod(2) would change the link's target
  await chmod(itself, (stats.mode & 0o7777) | (stats.isDirectory() ? access.folderMode : access.fileMode));
}
