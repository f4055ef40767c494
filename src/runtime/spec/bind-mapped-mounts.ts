import { invalidField } from '../../cri/field-error.ts';
import type { Mount } from '../../cri/generated/runtime-v1.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { MountError, type MountIdMap, type Mounts } from '../../host/mounts.ts';
import { existingHostPath } from './gather-mounts.ts';
import { mapsIds } from './mount-rules.ts';
import type { SpecRequest } from './spec-request.ts';

export interface MappingDeps {
  readonly fs: FileSystem;
  readonly mounts: Mounts;
}

/**
 * Binds the sources of the mounts whose ids are to be mapped, each at its index below `folder`, and answers where. Runtimes
 * of today cannot do it themselves in a user namespace that they join. Whoever takes the container away unmounts all that
 * lies in the folder.
 */
export async function bindMappedMounts(
  { container, namespaces }: Pick<SpecRequest, 'container' | 'namespaces'>,
  folder: string,
  { fs, mounts }: MappingDeps,
): Promise<ReadonlyMap<number, string>> {
  const bound = new Map<number, string>();
  for (const [index, mount] of container.mounts.entries()) {
    if (!mapsIds(mount)) continue;
    if (bound.size === 0) await fs.makeDirectory(folder, 0o711);
    const source = await existingHostPath(mount.hostPath, index, fs);
    const target = `${folder}/${index}`;
    try {
      await mounts.bindMapped(source, target, idMapOf(mount, namespaces));
    } catch (error) {
      if (!(error instanceof MountError) || error.code !== 'EINVAL') throw error;
      const why = `the file system of ${source} has no idmapped mounts`;
      throw invalidField(`mounts[${index}].uidMappings`, why, { cause: error });
    }
    bound.set(index, target);
  }
  return bound;
}

/** The sandbox's own user namespace serves where it has the same map: none has to be made then. */
function idMapOf({ uidMappings, gidMappings }: Mount, { user }: SpecRequest['namespaces']): MountIdMap {
  const idMap = { uids: uidMappings, gids: gidMappings };
  const isSame = user && rangesText(user.idMap) === rangesText(idMap);
  return isSame ? { ...idMap, userNamespacePath: user.path } : idMap;
}

function rangesText({ uids, gids }: Pick<MountIdMap, 'uids' | 'gids'>): string {
  const flat = (ranges: MountIdMap['uids']) =>
    ranges.map(({ containerId, hostId, length }) => [containerId, hostId, length]);
  return JSON.stringify([flat(uids), flat(gids)]);
}
