import { posix } from 'node:path';
import { badField } from '../../cri/bad-field.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';
import { isVolumePath, volumePath, volumesFault } from '../images/volume-paths.ts';
import type { DeclaredVolume } from '../spec/image-volumes.ts';
import { resolveInRoot } from '../spec/resolve-in-root.ts';
import { shiftedOwner } from '../storage/shift-owner.ts';
import type { IdMap } from '../storage/snapshots.ts';

/**
 * A volume that an image declares is a folder of the container's own writable layer, mounted upon itself: what the image
 * has there need not be copied, it lies on the disk, goes with the container, and can be written to where the rest of the
 * root file system cannot. It is bound to `hostPath` first: in the container something may be mounted above it by then.
 * Whoever takes the container away unmounts all that lies in the folder. Rejects when the signal aborts.
 */
export async function makeDeclaredVolumes(
  volumes: readonly DeclaredVolume[],
  rootfs: string,
  idMap: IdMap | undefined,
  { fs, mounts }: { readonly fs: FileSystem; readonly mounts: Mounts },
  signal: AbortSignal,
): Promise<void> {
  const fault = volumesFault(volumes.map(({ containerPath }) => containerPath)); // before anything is bound
  if (fault !== undefined) throw badField('image', fault);
  const root = shiftedOwner({ uid: 0, gid: 0 }, idMap);
  for (const { containerPath, hostPath } of volumes) {
    signal.throwIfAborted();
    const below = await resolveInRoot(fs, rootfs, containerPath);
    if (!isVolumePath(volumePath(below))) {
      throw badField('image', `volume ${JSON.stringify(containerPath)} leads to /${below}, where there cannot be one`);
    }
    const folder = `${rootfs}/${below}`;
    const isNew = (await fs.lstat(folder)) === undefined;
    await fs.makeDirectoryBeneath(rootfs, below, 0o755);
    if (isNew && idMap) await fs.changeOwner(folder, root.uid, root.gid);
    await fs.makeDirectory(posix.dirname(hostPath), 0o711);
    await mounts.bindBeneath(rootfs, below, hostPath);
  }
}
