import type { FileSystem } from '../../host/file-system.ts';
import { mapOwner } from '../storage/map-owner.ts';
import type { IdMap } from '../storage/snapshotter.ts';

/**
 * Creates a directory of one pod or container that other users of the machine cannot enter: images contain setuid programs,
 * and shared memory is world-writable. Root of the pod's user namespace has access through the group.
 */
export async function makePrivateDirectory(path: string, idMap: IdMap | undefined, fs: FileSystem): Promise<void> {
  if (idMap === undefined) return fs.makeDirectory(path, 0o700);
  await fs.makeDirectory(path, 0o710);
  await fs.changeOwner(path, 0, mapOwner({ uid: 0, gid: 0 }, idMap).gid);
}
