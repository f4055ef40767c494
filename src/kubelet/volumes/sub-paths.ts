import { dirname } from 'node:path';
import type { Container, Pod, VolumeMount } from '../../api/generated/core-v1.ts';
import { byCodePoint } from '../../base/code-point-order.ts';
import { expandEnv } from '../../base/env-expand.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';
import { PodError } from '../pod/pod-error.ts';
import { makeNodeDirectory } from './make-node-directory.ts';
import { subPathsDirectory } from './volume-paths.ts';
import type { ContainerVolume } from './volume-plugin.ts';

/** Looks up one of the container's environment variables. */
export type EnvLookup = (name: string) => string | undefined;

export interface SubPathsDeps {
  readonly fs: FileSystem;
  readonly mounts: Mounts;
  readonly settings: { readonly rootDir: string };
}

/**
 * Binds the `subPath`s of a container's mounts to paths that only the agent can change, so that a container cannot
 * redirect the runtime by changing its volume. Returns those paths by index of the mount. Repeated for each start. A
 * `subPath` of an image volume is resolved by the runtime.
 * Rejects with a `PodError` (`CreateContainerConfigError`).
 */
export async function bindSubPaths(
  pod: Pod,
  container: Container,
  volumes: ReadonlyMap<string, ContainerVolume>,
  variable: EnvLookup,
  deps: SubPathsDeps,
): Promise<ReadonlyMap<number, string>> {
  const bound = new Map<number, string>();
  const folder = subPathsDirectory(deps.settings.rootDir, pod.metadata.uid);
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const volume = volumes.get(mount.name);
    const path = volume?.path;
    const subPath = subPathOf(mount, variable);
    if (subPath === '' || path === undefined) continue;
    const target = `${folder}/${volume?.specName ?? mount.name}/${container.name}/${index}`;
    const mountText = `volumeMount "${mount.name}" of container "${container.name}"`;
    // The cause is not shown to users: it would reveal what is on the host.
    const make = makeSubPath(path, subPath, deps);
    await withSubPathError(make, mount.name, `failed to create subPath directory for ${mountText}`);
    const bind = bindSubPath(path, subPath, target, deps);
    await withSubPathError(bind, mount.name, `failed to prepare subPath for ${mountText}`);
    bound.set(index, target);
  }
  return bound;
}

/** Empty for the whole volume. Throws for a path that leads out of the volume. */
export function subPathOf(mount: VolumeMount, variable: EnvLookup): string {
  const subPath = mount.subPathExpr ? expandSubPath(mount.subPathExpr, variable) : (mount.subPath ?? '');
  if (subPath.startsWith('/')) throw configError(`error SubPath \`${subPath}\` must not be an absolute path`);
  if (subPath.split('/').includes('..')) {
    throw configError(`unable to provision SubPath \`${subPath}\`: must not contain '..'`);
  }
  return subPath;
}

/** Throws for a variable without a value: pods would share one directory. */
function expandSubPath(expression: string, variable: EnvLookup): string {
  const missing = new Set<string>();
  const text = expandEnv(expression, (name) => {
    const value = variable(name);
    if (!value) missing.add(name);
    return value;
  });
  if (missing.size > 0) throw configError(`missing value for ${[...missing].sort(byCodePoint).join(', ')}`);
  return text;
}

/**
 * Creates missing directories with the mode of their volume (setgid, and the sticky bit of a tmpfs, included), before the
 * runtime creates one that only root can use.
 */
async function makeSubPath(volume: string, subPath: string, { fs }: SubPathsDeps): Promise<void> {
  const isThere = await fs.stat(`${volume}/${subPath}`).then(
    (found) => found !== undefined,
    () => true, // stat failed: nothing is created over it
  );
  if (isThere) return;
  const mode = (await fs.stat(volume))?.mode ?? 0o750;
  await fs.makeDirectoryBeneath(volume, subPath, mode);
}

async function bindSubPath(volume: string, subPath: string, target: string, deps: SubPathsDeps): Promise<void> {
  await makeNodeDirectory(dirname(target), deps);
  await deps.mounts.bindBeneath(volume, subPath, target);
}

async function withSubPathError(work: Promise<void>, volume: string, message: string): Promise<void> {
  try {
    await work;
  } catch (cause) {
    const podCause = { kind: 'subPathFailed', volume } as const;
    throw new PodError('CreateContainerConfigError', message, { cause, podCause, eventMessage: `Error: ${message}` });
  }
}

function configError(message: string): PodError {
  return new PodError('CreateContainerConfigError', message, { eventMessage: `Error: ${message}` });
}
