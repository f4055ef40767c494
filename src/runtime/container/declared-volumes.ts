import { posix } from 'node:path';
import { invalidField } from '../../cri/field-error.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';
import { invalidVolumesReason, isVolumePath, volumePath } from '../images/volume-paths.ts';
import type { DeclaredVolume } from '../spec/image-volumes.ts';
import { resolveInRoot } from '../spec/resolve-in-root.ts';
import { mapOwner } from '../storage/map-owner.ts';
import type { IdMap } from '../storage/snapshotter.ts';

/**
 * Binds each volume that the image declares to its `hostPath`. The volume is a directory of the container's own writable
 * layer, mounted upon itself: the image's content need not be copied, the volume is on disk, is removed with the
 * container, and stays writable when the root filesystem is read-only. It is bound before the start because other mounts
 * of the container may cover it. `releaseBundle` unmounts all of them. Rejects when the signal aborts.
 */
export async function makeDeclaredVolumes(
  volumes: readonly DeclaredVolume[],
  rootfs: string,
  idMap: IdMap | undefined,
  { fs, mounts }: { readonly fs: FileSystem; readonly mounts: Mounts },
  signal: AbortSignal,
): Promise<void> {
  const error = invalidVolumesReason(volumes.map(({ containerPath }) => containerPath)); // checked before anything is bound
  if (error !== undefined) throw invalidField('image', error);
  const root = mapOwner({ uid: 0, gid: 0 }, idMap);
  for (const { containerPath, hostPath } of volumes) {
    signal.throwIfAborted();
    const below = await resolveInRoot(fs, rootfs, containerPath);
    if (!isVolumePath(volumePath(below))) {
      throw invalidField(
        'image',
        `volume ${JSON.stringify(containerPath)} resolves to /${below}, which cannot be a volume`,
      );
    }
    const folder = `${rootfs}/${below}`;
    const isNew = (await fs.lstat(folder)) === undefined;
    await fs.makeDirectoryBeneath(rootfs, below, 0o755);
    if (isNew && idMap) await fs.changeOwner(folder, root.uid, root.gid);
    await fs.makeDirectory(posix.dirname(hostPath), 0o711);
    await mounts.bindBeneath(rootfs, below, hostPath);
  }
}
