import { textOf } from '../../base/text-of.ts';
import { FileSystemError } from '../../host/file-system.ts';
import type { OciSpec } from '../oci/oci-spec.ts';
import { withoutOrders } from '../oci/prepare-config.ts';
import { makePrivateFolder } from '../settings/private-folder.ts';
import type { RuntimePaths } from '../settings/runtime-paths.ts';
import type { IdMap } from '../storage/snapshots.ts';
import { type ContainerDeps, declaredOf, mappedOf, rootfsOf, volumesOf } from './container-deps.ts';
import { type ImageVolume, imageVolumeFailure } from './image-volumes.ts';

export type FileDeps = Pick<ContainerDeps, 'fs' | 'paths' | 'snapshots'>;

export interface MountedFiles {
  readonly id: string;
  readonly imageId: string;
  readonly idMap: IdMap | undefined;
  readonly imageVolumes: readonly ImageVolume[];
}

/** The bundle with all that is mounted in it. Safe to repeat; `releaseFiles` undoes it, also where this failed. */
export async function mountFiles(files: MountedFiles, deps: FileDeps, signal: AbortSignal): Promise<void> {
  const { fs, paths, snapshots } = deps;
  const { id, imageId, idMap, imageVolumes } = files;
  await makePrivateFolder(paths.bundle(id), idMap, fs);
  const target = rootfsOf(paths, id);
  await snapshots.mount({ containerId: id, imageId, target, ...(idMap && { idMap }) }, signal);
  for (const volume of imageVolumes) {
    try {
      const view = { imageId: volume.imageId, target: imageVolumePath(paths, id, volume), ...(idMap && { idMap }) };
      await snapshots.mountImage(view, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw imageVolumeFailure(volume, textOf(error), error);
    }
  }
}

export function imageVolumePath(paths: RuntimePaths, id: string, { index }: ImageVolume): string {
  return `${volumesOf(paths, id)}/${index}`;
}

/** By the id alone; whatever is not there is fine. Nothing of the container runs any more. */
export async function releaseFiles(id: string, { fs, paths, snapshots }: FileDeps): Promise<void> {
  for (const folder of [volumesOf(paths, id), mappedOf(paths, id), declaredOf(paths, id)]) {
    for (const name of await namesIn(fs, folder)) await snapshots.unmount(`${folder}/${name}`);
  }
  await snapshots.unmount(rootfsOf(paths, id));
  await Promise.all([snapshots.remove(id), fs.removeTree(paths.bundle(id))]);
}

export async function namesIn(fs: FileDeps['fs'], folder: string): Promise<readonly string[]> {
  try {
    return (await fs.readDirectory(folder)).map(({ name }) => name);
  } catch (error) {
    if (error instanceof FileSystemError && error.code === 'ENOENT') return [];
    throw error;
  }
}

export function configPath(paths: RuntimePaths, id: string): string {
  return `${paths.bundle(id)}/config.json`;
}

export function writeConfig(id: string, spec: OciSpec, { fs, paths }: Omit<FileDeps, 'snapshots'>): Promise<void> {
  return fs.writeFile(configPath(paths, id), JSON.stringify(spec), { mode: 0o600 });
}

/** `undefined` when there is none any more. */
export async function readConfig(id: string, deps: Omit<FileDeps, 'snapshots'>): Promise<OciSpec | undefined> {
  const path = configPath(deps.paths, id);
  if ((await deps.fs.stat(path)) === undefined) return undefined;
  return withoutOrders(JSON.parse(await deps.fs.readText(path)) as OciSpec); // we wrote it, in a folder of our own
}

/** What a record keeps of it. */
export function recordedSpec(spec: OciSpec): OciSpec {
  const { seccomp: _, ...linux } = spec.linux;
  return { ...spec, linux };
}
