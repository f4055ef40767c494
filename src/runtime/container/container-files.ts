import { errorText } from '../../base/error-text.ts';
import { FileSystemError } from '../../host/file-system.ts';
import type { OciSpec } from '../oci/oci-spec.ts';
import { withoutCrunAnnotations } from '../oci/prepare-config.ts';
import { makePrivateDirectory } from '../settings/private-directory.ts';
import type { RuntimePaths } from '../settings/runtime-paths.ts';
import type { IdMap } from '../storage/snapshotter.ts';
import {
  type ContainerDeps,
  declaredVolumesPath,
  imageVolumesPath,
  mappedMountsPath,
  rootfsPath,
} from './container-deps.ts';
import { type ImageVolume, imageVolumeMountError } from './image-volumes.ts';

export type FileDeps = Pick<ContainerDeps, 'fs' | 'paths' | 'snapshots'>;

export interface BundleFiles {
  readonly id: string;
  readonly imageId: string;
  readonly idMap: IdMap | undefined;
  readonly imageVolumes: readonly ImageVolume[];
}

/** Creates the bundle and mounts its root filesystem and image volumes. Idempotent; `releaseBundle` undoes it, also after a failure. */
export async function mountBundle(files: BundleFiles, deps: FileDeps, signal: AbortSignal): Promise<void> {
  const { fs, paths, snapshots } = deps;
  const { id, imageId, idMap, imageVolumes } = files;
  await makePrivateDirectory(paths.bundle(id), idMap, fs);
  const target = rootfsPath(paths, id);
  await snapshots.mount({ containerId: id, imageId, target, ...(idMap && { idMap }) }, signal);
  for (const volume of imageVolumes) {
    try {
      const view = { imageId: volume.imageId, target: imageVolumePath(paths, id, volume), ...(idMap && { idMap }) };
      await snapshots.mountImage(view, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw imageVolumeMountError(volume, errorText(error), error);
    }
  }
}

export function imageVolumePath(paths: RuntimePaths, id: string, { index }: ImageVolume): string {
  return `${imageVolumesPath(paths, id)}/${index}`;
}

/** Unmounts and removes the bundle and the snapshot, from the id alone. Idempotent. The container must not run. */
export async function releaseBundle(id: string, { fs, paths, snapshots }: FileDeps): Promise<void> {
  for (const folder of [imageVolumesPath(paths, id), mappedMountsPath(paths, id), declaredVolumesPath(paths, id)]) {
    for (const name of await listNames(fs, folder)) await snapshots.unmount(`${folder}/${name}`);
  }
  await snapshots.unmount(rootfsPath(paths, id));
  await Promise.all([snapshots.remove(id), fs.removeTree(paths.bundle(id))]);
}

export async function listNames(fs: FileDeps['fs'], folder: string): Promise<readonly string[]> {
  try {
    return (await fs.readDirectory(folder)).map(({ name }) => name);
  } catch (error) {
    if (error instanceof FileSystemError && error.code === 'ENOENT') return [];
    throw error;
  }
}

export function bundleConfigPath(paths: RuntimePaths, id: string): string {
  return `${paths.bundle(id)}/config.json`;
}

export function writeBundleConfig(
  id: string,
  spec: OciSpec,
  { fs, paths }: Omit<FileDeps, 'snapshots'>,
): Promise<void> {
  return fs.writeFile(bundleConfigPath(paths, id), JSON.stringify(spec), { mode: 0o600 });
}

/** `undefined` if the bundle is gone. */
export async function readBundleConfig(id: string, deps: Omit<FileDeps, 'snapshots'>): Promise<OciSpec | undefined> {
  const path = bundleConfigPath(deps.paths, id);
  if ((await deps.fs.stat(path)) === undefined) return undefined;
  return withoutCrunAnnotations(JSON.parse(await deps.fs.readText(path)) as OciSpec); // written by us, in a private directory
}

/** The part of the spec that the record stores: all but the seccomp profile, which is most of its size. */
export function specForRecord(spec: OciSpec): OciSpec {
  const { seccomp: _, ...linux } = spec.linux;
  return { ...spec, linux };
}
