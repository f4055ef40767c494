import type { Pod, Volume } from '../../api/generated/core-v1.ts';
import { textOf } from '../../base/text-of.ts';
import { PodError } from '../sync/pod-error.ts';
import type { PodStep } from '../sync/pod-step.ts';
import { type EmptyDirDeps, prepareEmptyDir } from './empty-dir.ts';
import { prepareHostPath } from './host-path.ts';
import { pluginsDirectory, volumesDirectory } from './volume-paths.ts';

/**
 * The volumes of pods, on the host.
 *
 * 1. `prepare` may be repeated: what is in place stays as it is.
 * 2. `release` is safe without `prepare`; it finds what there is on the machine, not in the pod's spec.
 * 3. Nothing is ever removed through a mount: a volume that cannot be unmounted stays, and `release` rejects.
 */
export class PodVolumes implements PodStep {
  readonly name = 'volumes';
  readonly #deps: EmptyDirDeps;
  readonly #paths = new Map<string, ReadonlyMap<string, string>>();

  constructor(deps: EmptyDirDeps) {
    this.#deps = deps;
  }

  /** Rejects with a `PodError` (`FailedMount`) that names the volume. */
  async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const paths = new Map<string, string>();
    for (const volume of pod.spec.volumes ?? []) {
      signal.throwIfAborted();
      paths.set(volume.name, await this.#prepareOne(pod, volume));
    }
    this.#paths.set(pod.metadata.uid, paths);
  }

  /** Host path by volume name, of a prepared pod. */
  paths(uid: string): ReadonlyMap<string, string> {
    return this.#paths.get(uid) ?? new Map();
  }

  async release(pod: Pod, signal: AbortSignal): Promise<void> {
    await this.releaseByUid(pod.metadata.uid, signal);
  }

  /** For a pod of which nothing but its folder is known. */
  async releaseByUid(uid: string, signal: AbortSignal): Promise<void> {
    const { fs, mounts, settings } = this.#deps;
    this.#paths.delete(uid);
    const volumes = volumesDirectory(settings.rootDir, uid);
    const below = (await mounts.list()).filter(({ target }) => target.startsWith(`${volumes}/`));
    for (const { target } of below.toReversed()) {
      signal.throwIfAborted();
      await mounts.unmount(target);
    }
    // First what says that volumes are ready: half-removed ones must not look it.
    await fs.removeTree(pluginsDirectory(settings.rootDir, uid));
    await fs.removeTree(volumes);
  }

  async #prepareOne(pod: Pod, volume: Volume): Promise<string> {
    try {
      if (volume.hostPath) return await prepareHostPath(this.#deps.fs, volume.hostPath);
      if (volume.emptyDir) return await prepareEmptyDir(pod, volume.name, volume.emptyDir, this.#deps);
    } catch (error) {
      const message = `MountVolume.SetUp failed for volume "${volume.name}" : ${textOf(error)}`;
      throw new PodError('FailedMount', message, { cause: error });
    }
    throw new PodError('FailedMount', `volume "${volume.name}" is of a type that is not supported yet`);
  }
}
