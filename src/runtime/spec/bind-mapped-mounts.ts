import { invalidField } from '../../cri/field-error.ts';
import type { Mount } from '../../cri/generated/runtime-v1.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { MountError, type MountIdMap, type Mounts } from '../../host/mounts.ts';
import { ensureHostPath } from './gather-mounts.ts';
import { mapsIds } from './mount-rules.ts';
import type { SpecRequest } from './spec-request.ts';

export interface MappingDeps {
  readonly fs: FileSystem;
  readonly mounts: Mounts;
}

/**
 * Binds the sources of mounts with ID mappings, each at its index below `folder`, and returns the paths. Current
 * runtimes cannot map IDs in a user namespace that they join. The removal of the container unmounts everything in the
 * directory.
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
    const source = await ensureHostPath(mount.hostPath, index, fs);
    const target = `${folder}/${index}`;
    try {
      await mounts.bindMapped(source, target, mountIdMap(mount, namespaces));
    } catch (error) {
      if (!(error instanceof MountError) || error.code !== 'EINVAL') throw error;
      const why = `the file system of ${source} does not support idmapped mounts`;
      throw invalidField(`mounts[${index}].uidMappings`, why, { cause: error });
    }
    bound.set(index, target);
  }
  return bound;
}

/** Reuses the sandbox's user namespace if it has the same map, instead of creating one. */
function mountIdMap({ uidMappings, gidMappings }: Mount, { user }: SpecRequest['namespaces']): MountIdMap {
  const idMap = { uids: uidMappings, gids: gidMappings };
  const isSame = user && rangesText(user.idMap) === rangesText(idMap);
  return isSame ? { ...idMap, userNamespacePath: user.path } : idMap;
}

function rangesText({ uids, gids }: Pick<MountIdMap, 'uids' | 'gids'>): string {
  const flat = (ranges: MountIdMap['uids']) =>
    ranges.map(({ containerId, hostId, length }) => [containerId, hostId, length]);
  return JSON.stringify([flat(uids), flat(gids)]);
}
