import type { FileSystem } from '../../host/file-system.ts';
import { shiftedOwner } from '../storage/shift-owner.ts';
import type { IdMap } from '../storage/snapshots.ts';

/**
 * A folder of one pod or container. No other user of the machine gets into it: images hold setuid programs of their own,
 * and shared memory is anybody's. Root of a pod with its own users comes through, by the group.
 */
export async function makePrivateDirectory(path: string, idMap: IdMap | undefined, fs: FileSystem): Promise<void> {
  if (idMap === undefined) return fs.makeDirectory(path, 0o700);
  await fs.makeDirectory(path, 0o710);
  await fs.changeOwner(path, 0, shiftedOwner({ uid: 0, gid: 0 }, idMap).gid);
}
