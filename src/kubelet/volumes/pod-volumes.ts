import type { Pod, Volume } from '../../api/generated/core-v1.ts';
import { byCodePoint } from '../../base/code-point-order.ts';
import type { PodEvents } from '../events/pod-events.ts';
import type { PodClaims } from '../objects/pod-claims.ts';
import { PodError } from '../pod/pod-error.ts';
import { podDirectory } from '../pod/pod-paths.ts';
import type { PodStep } from '../pod/pod-step.ts';
import { mountError, notMounted, unsupportedVolume } from './mount-errors.ts';
import { mountPointsBelow } from './mount-points.ts';
import { releaseVolumes } from './release-volumes.ts';
import type { HostDevice, HostVolume, MountedVolume, RefreshableContent, VolumePluginDeps } from './volume-plugin.ts';
import { findVolumePlugin, VOLUME_PLUGINS } from './volume-plugins.ts';
import { resolveVolume, type VolumeSpec } from './volume-spec.ts';
import { extraGroup, volumesInUse } from './volumes-of-pod.ts';

/** As long as kubelet waits for the volumes of a pod; then the sync fails, is reported and retried. */
const ATTACH_AND_MOUNT_MS = 123_000;

export interface PodVolumesDeps extends VolumePluginDeps {
  readonly events: PodEvents;
  readonly claims: PodClaims;
}

/** A volume that is set up, by mode. */
type PodVolume = {
  readonly spec: VolumeSpec;
} & (
  | { readonly kind: 'filesystem'; readonly mounted: MountedVolume; readonly isStale: boolean }
  | { readonly kind: 'block'; readonly device: HostDevice }
);

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
  readonly #ready = new Map<string, ReadonlyMap<string, PodVolume>>();

  constructor(deps: PodVolumesDeps) {
    this.#deps = deps;
  }

  /** Rejects with a `PodError` (`FailedMount`, `FailedMapVolume`) that names the volume. */
  async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const volumes = volumesInUse(pod);
    const folder = podDirectory(this.#deps.settings.rootDir, pod.metadata.uid);
    const mountPoints = volumes.length > 0 ? await mountPointsBelow(folder, this.#deps) : [];
    const deadline = this.#deps.clock.deadline(ATTACH_AND_MOUNT_MS);
    const patience = AbortSignal.any([signal, deadline]);
    const setUp = (volume: VolumeInUse): Promise<PodVolume> =>
      this.#setUp(pod, volume, mountPoints, patience).catch((error: unknown) =>
        this.#keepPrevious(pod, volume, error, patience),
      );
    const { done, errors } = await settleAll(volumes, setUp, signal, deadline);
    this.#throwMountErrors(pod, errors);
    this.#ready.set(pod.metadata.uid, done);
  }

  isStale(uid: string): boolean {
    return [...this.#of(uid).values()].some((each) => each.kind === 'filesystem' && each.isStale);
  }

  async refresh(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const before = this.#of(uid);
    if (!(await this.#areInPlace(before.values()))) return this.prepare(pod, signal);
    const refreshable = [...before].flatMap(([name, volume]) => {
      const content = volume.kind === 'filesystem' ? volume.mounted.content : undefined;
      return content ? [{ name, refresh: () => refreshed(pod, volume, content, signal) }] : [];
    });
    const { done, errors } = await settleAll(refreshable, ({ refresh }) => refresh(), signal);
    this.#ready.set(uid, new Map([...before, ...done]));
    this.#throwMountErrors(pod, errors);
  }

  /** File systems of a prepared pod, by the name of the volume in its spec. */
  volumes(uid: string): ReadonlyMap<string, HostVolume> {
    const all = [...this.#of(uid)];
    return new Map(all.flatMap(([name, each]) => (each.kind === 'filesystem' ? [[name, each.mounted]] : [])));
  }

  /** Block devices of a prepared pod, by the name of the volume in its spec. */
  devices(uid: string): ReadonlyMap<string, HostDevice> {
    const all = [...this.#of(uid)];
    return new Map(all.flatMap(([name, each]) => (each.kind === 'block' ? [[name, each.device]] : [])));
  }

  /** Groups that the persistent volumes of a prepared pod ask for, beyond those of its spec. */
  extraGroups({ metadata, spec }: Pod): readonly number[] {
    const own = spec.securityContext?.supplementalGroups ?? [];
    const groups = [...this.#of(metadata.uid).values()].flatMap((volume) => extraGroup(volume.spec) ?? []);
    return [...new Set(groups)].filter((group) => !own.includes(group));
  }

  async release(pod: Pod, signal: AbortSignal): Promise<void> {
    await this.releaseByUid(pod.metadata.uid, signal);
  }

  /** Releases a pod of which only the directory is known. */
  async releaseByUid(uid: string, signal: AbortSignal): Promise<void> {
    this.#ready.delete(uid);
    for (const plugin of VOLUME_PLUGINS) plugin.forget?.(uid, this.#deps);
    await releaseVolumes(uid, this.#deps, signal);
  }

  #of(uid: string): ReadonlyMap<string, PodVolume> {
    return this.#ready.get(uid) ?? new Map();
  }

  async #setUp(
    pod: Pod,
    { volume, use }: VolumeInUse,
    mountPoints: readonly string[],
    signal: AbortSignal,
  ): Promise<PodVolume> {
    const spec = await resolveVolume(pod, volume, use, this.#deps.claims, signal);
    const plugin = findVolumePlugin(spec);
    if (!plugin) throw unsupportedVolume(spec);
    const setup = { pod, volume: spec, mountPoints };
    if (spec.mode === 'Block') {
      if (!plugin.mapDevice) throw unsupportedVolume(spec);
      try {
        return { spec, kind: 'block', device: await plugin.mapDevice(setup, this.#deps, signal) };
      } catch (error) {
        throw mountError(spec, error);
      }
    }
    try {
      const mounted = await plugin.setUp(setup, this.#deps, signal);
      const isRelabelled = mounted.isRelabelled ?? plugin.supportsRelabel;
      return { spec, kind: 'filesystem', mounted: { ...mounted, isRelabelled }, isStale: false };
    } catch (error) {
      throw mountError(spec, error);
    }
  }

  /** Uses the volume of an earlier version of the pod, as kubelet does, and records an event. */
  async #keepPrevious(pod: Pod, { name }: VolumeInUse, error: unknown, signal: AbortSignal): Promise<PodVolume> {
    const kept = this.#of(pod.metadata.uid).get(name);
    if (signal.aborted || !kept || !(await this.#areInPlace([kept]))) throw error;
    const { reason, message, podCause } = asPodError(name, error);
    this.#deps.events.record(pod, 'Warning', reason, message, undefined, podCause);
    if (kept.kind === 'block' || !kept.mounted.content) return kept;
    return { ...kept, mounted: { ...kept.mounted, content: kept.mounted.content.invalidated() }, isStale: true };
  }

  async #areInPlace(volumes: Iterable<PodVolume>): Promise<boolean> {
    const markers = Array.from(volumes).flatMap((each) =>
      each.kind === 'filesystem' ? (each.mounted.marker ?? []) : each.device.path,
    );
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

type VolumeInUse = ReturnType<typeof volumesInUse>[number];

async function refreshed(
  pod: Pod,
  volume: PodVolume,
  content: RefreshableContent,
  signal: AbortSignal,
): Promise<PodVolume> {
  if (volume.kind === 'block') return volume;
  try {
    const mounted = { ...volume.mounted, content: await content.refresh(pod, signal) };
    return { ...volume, mounted, isStale: false };
  } catch (error) {
    throw mountError(volume.spec, error);
  }
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
  deadline?: AbortSignal,
): Promise<Outcomes> {
  const outcomes = await Promise.allSettled(volumes.map(work));
  signal.throwIfAborted();
  const done = new Map<string, PodVolume>();
  const failed: { readonly name: string; readonly reason: unknown }[] = [];
  for (const [index, { name }] of volumes.entries()) {
    const outcome = outcomes[index];
    if (outcome?.status === 'fulfilled') done.set(name, outcome.value);
    else failed.push({ name, reason: outcome?.reason });
  }
  const names = failed.map(({ name }) => name).sort(byCodePoint);
  const errors = failed.map(({ name, reason }) =>
    deadline?.aborted && reason === deadline.reason
      ? notMounted(name, names, 'context deadline exceeded')
      : asPodError(name, reason, names),
  );
  return { done, errors };
}

/** An error before the plugin was called is one of kubelet's wait for all volumes of the pod. */
function asPodError(name: string, error: unknown, unmounted: readonly string[] = [name]): PodError {
  return error instanceof PodError ? error : notMounted(name, unmounted, error);
}
