import { allContainers } from '../../api/all-containers.ts';
import type { Pod, Volume } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import type { PodEvents } from '../events/pod-events.ts';
import { podCauseOf } from '../pod/pod-cause.ts';
import { PodError } from '../pod/pod-error.ts';
import { podDirectory } from '../pod/pod-paths.ts';
import type { PodStep } from '../pod/pod-step.ts';
import { waitForAll } from '../sync/wait-for-all.ts';
import { innermostFirst, mountPointsBelow } from './mount-points.ts';
import { pluginsDirectory, subPathsDirectory, volumesDirectory } from './volume-paths.ts';
import type { ContainerVolume, MountedVolume, RefreshableContent, VolumePluginDeps } from './volume-plugin.ts';
import { findVolumePlugin, VOLUME_PLUGINS } from './volume-plugins.ts';

export interface PodVolumesDeps extends VolumePluginDeps {
  readonly events: PodEvents;
}

type PodVolume = MountedVolume & {
  /** The content is that of an earlier version of the pod. */
  readonly isStale?: boolean;
};

/**
 * Sets up and removes the volumes of pods, through the plugins of `VOLUME_PLUGINS`.
 *
 * 1. `prepare` may be repeated. A volume that is already set up stays usable if it cannot be set up again.
 * 2. `refresh` rewrites only content whose objects have changed. Content stays as it is if an object is not available.
 * 3. `release` is safe without `prepare`: it finds mounts and directories on the host, not in the pod's spec.
 * 4. Nothing is removed through a mount: if a volume cannot be unmounted, `release` rejects and its files stay.
 */
export class PodVolumes implements PodStep {
  readonly name = 'volumes';
  readonly #deps: PodVolumesDeps;
  readonly #mounted = new Map<string, ReadonlyMap<string, PodVolume>>();

  constructor(deps: PodVolumesDeps) {
    this.#deps = deps;
  }

  /** Rejects with a `PodError` (`FailedMount`) that names the volume. */
  async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const volumes = mountedVolumes(pod);
    const folder = podDirectory(this.#deps.settings.rootDir, pod.metadata.uid);
    const mountPoints = volumes.length > 0 ? await mountPointsBelow(folder, this.#deps) : [];
    const setUp = (volume: Volume): Promise<PodVolume> =>
      this.#setUp(pod, volume, mountPoints, signal).catch((error: unknown) =>
        this.#keepPrevious(pod, volume, error, signal),
      );
    const { done, errors } = await settleAll(volumes, setUp, signal);
    this.#throwMountErrors(pod, errors);
    this.#mounted.set(pod.metadata.uid, done);
  }

  isStale(uid: string): boolean {
    return [...(this.#mounted.get(uid)?.values() ?? [])].some(({ isStale = false }) => isStale);
  }

  async refresh(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const before = this.#mounted.get(uid) ?? new Map<string, PodVolume>();
    if (!(await this.#areInPlace(before.values()))) return this.prepare(pod, signal);
    const refreshable = [...before].flatMap(([name, volume]) => {
      const { content } = volume;
      return content ? [{ name, refresh: () => refreshed(pod, volume, content, signal) }] : [];
    });
    const { done, errors } = await settleAll(refreshable, ({ refresh }) => refresh(), signal);
    this.#mounted.set(uid, new Map([...before, ...done]));
    this.#throwMountErrors(pod, errors);
  }

  /** Volumes of a prepared pod, by name. */
  volumes(uid: string): ReadonlyMap<string, ContainerVolume> {
    return this.#mounted.get(uid) ?? new Map();
  }

  async release(pod: Pod, signal: AbortSignal): Promise<void> {
    await this.releaseByUid(pod.metadata.uid, signal);
  }

  /** Releases a pod of which only the directory is known. */
  async releaseByUid(uid: string, signal: AbortSignal): Promise<void> {
    const { fs, mounts, settings } = this.#deps;
    const { rootDir } = settings;
    this.#mounted.delete(uid);
    for (const plugin of VOLUME_PLUGINS) plugin.tearDown?.(uid, this.#deps);
    const own = [subPathsDirectory(rootDir, uid), volumesDirectory(rootDir, uid)];
    const mountPoints = await mountPointsBelow(podDirectory(rootDir, uid), this.#deps);
    const ours = mountPoints.filter((each) => own.some((folder) => each.startsWith(`${folder}/`)));
    for (const group of innermostFirst(ours)) {
      signal.throwIfAborted();
      await waitForAll(group.map((path) => mounts.unmount(path)));
    }
    // The ready files go first: a half-removed volume must not count as set up.
    await fs.removeTree(pluginsDirectory(rootDir, uid));
    for (const folder of own) await fs.removeTree(folder);
  }

  async #setUp(pod: Pod, volume: Volume, mountPoints: readonly string[], signal: AbortSignal): Promise<PodVolume> {
    const plugin = findVolumePlugin(volume);
    if (!plugin) throw unsupportedVolume(volume);
    return plugin.setUp({ pod, volume, mountPoints }, this.#deps, signal);
  }

  /** Uses the volume of an earlier version of the pod, as kubelet does, and records an event. */
  async #keepPrevious(pod: Pod, { name }: Volume, error: unknown, signal: AbortSignal): Promise<PodVolume> {
    const kept = this.#mounted.get(pod.metadata.uid)?.get(name);
    if (signal.aborted || !kept || !(await this.#areInPlace([kept]))) throw error;
    const { reason, message, podCause } = mountError(name, error);
    this.#deps.events.record(pod, 'Warning', reason, message, undefined, podCause);
    if (!kept.content) return kept;
    return { ...kept, content: kept.content.invalidated(), isStale: true };
  }

  async #areInPlace(volumes: Iterable<PodVolume>): Promise<boolean> {
    const markers = Array.from(volumes).flatMap(({ marker }) => marker ?? []);
    const found = await Promise.all(markers.map((marker) => this.#deps.fs.stat(marker)));
    return !found.includes(undefined);
  }

  /** Several errors are recorded as one event for each volume. */
  #throwMountErrors(pod: Pod, errors: readonly PodError[]): void {
    const [first, ...others] = errors;
    if (first === undefined) return;
    if (others.length === 0) throw first;
    for (const { reason, message, podCause } of errors) {
      this.#deps.events.record(pod, 'Warning', reason, message, undefined, podCause);
    }
    const message = errors.map((error) => error.message).join(', ');
    // The typed cause names the first volume, the message has the errors of all.
    const { podCause } = first;
    const cause = podCause?.kind === 'volumeFailed' ? { podCause: { ...podCause, cause: undefined } } : {};
    throw new PodError('FailedMount', message, { silent: true, ...cause });
  }
}

async function refreshed(
  pod: Pod,
  volume: PodVolume,
  content: RefreshableContent,
  signal: AbortSignal,
): Promise<PodVolume> {
  return { ...volume, content: await content.refresh(pod, signal), isStale: false };
}

/** The volumes that at least one container mounts. The others are not set up. */
function mountedVolumes({ spec }: Pod): readonly Volume[] {
  const { volumes = [] } = spec;
  const names = new Set(allContainers(spec).flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)));
  return volumes.filter(({ name }) => names.has(name));
}

interface Outcomes {
  readonly done: ReadonlyMap<string, PodVolume>;
  readonly errors: readonly PodError[];
}

/** Works on all volumes at once, so that a volume that waits for its objects does not delay the others. */
async function settleAll<T extends Pick<Volume, 'name'>>(
  volumes: readonly T[],
  work: (volume: T) => Promise<PodVolume>,
  signal: AbortSignal,
): Promise<Outcomes> {
  const outcomes = await Promise.allSettled(volumes.map(work));
  signal.throwIfAborted();
  const done = new Map<string, PodVolume>();
  const errors: PodError[] = [];
  for (const [index, { name }] of volumes.entries()) {
    const outcome = outcomes[index];
    if (outcome?.status === 'fulfilled') done.set(name, outcome.value);
    else errors.push(mountError(name, outcome?.reason));
  }
  return { done, errors };
}

function mountError(name: string, cause: unknown): PodError {
  if (cause instanceof PodError) return cause;
  const podCause = { kind: 'volumeFailed', volume: name, cause: podCauseOf(cause) } as const;
  const message = `MountVolume.SetUp failed for volume "${name}" : ${errorText(cause)}`;
  return new PodError('FailedMount', message, { cause, podCause });
}

function unsupportedVolume({ name, ...source }: Volume): PodError {
  const type = Object.entries(source).find(([, value]) => value !== undefined)?.[0] ?? 'none';
  const message = `volume "${name}" is of type ${type}, which is not supported yet`;
  return new PodError('FailedMount', message, { podCause: { kind: 'volumeFailed', volume: name, cause: undefined } });
}
