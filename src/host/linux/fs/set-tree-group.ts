import { constants } from 'node:fs';
import { chmod, chown, open } from 'node:fs/promises';
import { mapInBatches } from '../../../base/map-in-batches.ts';
import type { GroupAccess } from '../../file-system.ts';
import type { KernelPath } from '../sys/kernel-path.ts';
import { placeOfEntry } from './folder-entries.ts';
import { unlessMissing } from './unless-missing.ts';
import { walkTree } from './walk-tree.ts';

const O_PATH = 0o10000000;
/** As many entries of a folder at a time. */
const AT_ONCE = 32;

export async function giveTreeToGroup(root: string, access: GroupAccess, signal?: AbortSignal): Promise<void> {
  for await (const event of walkTree(root, { order: 'any' }, signal)) {
    if (event.kind === 'leave') await give(placeOfEntry(event.parent, event.name), access);
    if (event.kind !== 'entries') continue;
    await mapInBatches(event.entries, AT_ONCE, ({ name }) => give(placeOfEntry(event.folder, name), access));
  }
  await give(root, access);
}

/** Through a handle on the place itself: what takes its name meanwhile is not touched. */
async function give(place: KernelPath, { gid, fileMode, folderMode }: GroupAccess): Promise<void> {
  await using handle = await unlessMissing(open(place, O_PATH | constants.O_NOFOLLOW));
  if (handle === undefined) return;
  const itself = `/proc/self/fd/${handle.fd}`;
  const stats = await handle.stat();
  await chown(itself, stats.uid, gid);
  if (stats.isSymbolicLink()) return; // its mode would be that of the file it points to
  await chmod(itself, (stats.mode & 0o7777) | (stats.isDirectory() ? folderMode : fileMode));
}
