import { posix } from 'node:path';
import type { FileSystem } from '../../host/file-system.ts';
import type { DeclaredVolume } from '../spec/image-volumes.ts';
import { resolveInRoot } from '../spec/resolve-in-root.ts';
import type { IdMap } from '../storage/snapshots.ts';

/**
 * A volume that an image declares is a folder of the container's own writable layer, mounted upon itself: what the image
 * has there need not be copied, it lies on the disk, goes with the container, and can be written to where the rest of the
 * root file system cannot. `hostPath` becomes a link to it.
 */
export async function makeDeclaredVolumes(
  volumes: readonly DeclaredVolume[],
  rootfs: string,
  idMap: IdMap | undefined,
  fs: FileSystem,
): Promise<void> {
  for (const { containerPath, hostPath } of volumes) {
    const below = await resolveInRoot(fs, rootfs, containerPath);
    const folder = `${rootfs}/${below}`;
    const isNew = (await fs.lstat(folder)) === undefined;
    await fs.makeDirectoryBeneath(rootfs, below, 0o755);
    if (isNew && idMap) await fs.changeOwner(folder, rootOf(idMap.uids), rootOf(idMap.gids));
    await fs.makeDirectory(posix.dirname(hostPath), 0o711);
    await fs.symbolicLink(folder, hostPath);
  }
}

function rootOf(map: IdMap['uids']): number {
  return map.find(({ containerId }) => containerId === 0)?.hostId ?? 0;
}
