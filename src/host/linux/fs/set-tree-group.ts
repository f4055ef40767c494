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
  for await (const event of walkTree(root, { order: 'any' }, signal)) {
    if (event.kind === 'leave') await setGroup(entryPath(event.parent, event.name), access);
    if (event.kind !== 'entries') continue;
    await mapInBatches(event.entries, AT_ONCE, ({ name }) => setGroup(entryPath(event.folder, name), access));
  }
  await setGroup(root, access);
}

/** Through an `O_PATH` handle: a file that replaces it meanwhile is not changed. */
async function setGroup(path: KernelPath, { gid, fileMode, folderMode }: GroupAccess): Promise<void> {
  await using handle = await unlessMissing(open(path, O_PATH | constants.O_NOFOLLOW));
  if (handle === undefined) return;
  const itself = `/proc/self/fd/${handle.fd}`;
  const stats = await handle.stat();
  await chown(itself, stats.uid, gid);
  if (stats.isSymbolicLink()) return; // chmod(2) would change the link's target
  await chmod(itself, (stats.mode & 0o7777) | (stats.isDirectory() ? folderMode : fileMode));
}
