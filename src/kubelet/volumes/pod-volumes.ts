import type { Pod } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import type { ProjectUsage } from '../../host/project-quotas.ts';
import type { PodClaims } from '../objects/pod-claims.ts';
import { CausedError, type ErrorCause, podCauseOf } from '../pod/pod-cause.ts';
import { PodError, podErrorEvent } from '../pod/pod-error.ts';
import { podDirectory } from '../pod/pod-paths.ts';
import type { PodStep } from '../pod/pod-step.ts';
import { waitForAll } from '../sync/wait-for-all.ts';
import type { AttachLimits } from './attach-limits.ts';
import { measuredPlugin, publishSetUp } from './measured-plugin.ts';
import { attachLimitExceeded, mountError, notMounted, unsupportedVolume } from './mount-errors.ts';
import { mountPointsBelow } from './mount-points.ts';
import { checkNodeAffinity } from './node-affinity.ts';
import { PodAttachments } from './pod-attachments.ts';
import { releaseVolumes } from './release-volumes.ts';
import { asPodError, settleVolumes } from './settle-volumes.ts';
import { countVolumes, type VolumeCounts } from './volume-counts.ts';
import { recordMapped, recordMismatch } from './volume-events.ts';
import type {
  ContainerVolume,
  HostDevice,
  MountedVolume,
  RefreshableContent,
  VolumePluginDeps,
} from './volume-plugin.ts';
import { findVolumePlugin } from './volume-plugins.ts';
import { resolveVolume, type VolumeResolutionError, type VolumeSpec } from './volume-spec.ts';
import type { MeasurableVolume } from './volume-usage.ts';
import { VolumeWaits } from './volume-waits.ts';
import { extraGroup, volumesInUse } from './volumes-of-pod.ts';
import { waitForClaim } from './wait-for-claim.ts';

/** As long as kubelet waits for the volumes of a pod; then the sync fails, is reported and retried. */
const ATTACH_AND_MOUNT_MS = 123_000;

export interface PodVolumesDeps extends VolumePluginDeps {
  readonly claims: PodClaims;
  readonly attachLimits: AttachLimits;
  /** The labels that the node has at the API server, or would have there. */
  readonly nodeLabels: () => Readonly<Record<string, string>>;
}

/** A volume that is set up, by mode. */
type PodVolume = {
  readonly spec: VolumeSpec;
} & (
  | { readonly kind: 'filesystem'; readonly mounted: MountedVolume; readonly isStale: boolean }
  | { readonly kind: 'block'; readonly device: HostDevice }
);

/**
 * Sets up and removes the volumes of pods, through the plugins of their types.
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
  /** Pods that need their volumes, by UID. */
  readonly #wanted = new Map<string, Pod>();
  readonly #waits = new VolumeWaits();
  readonly #attachments: PodAttachments;

  constructor(deps: PodVolumesDeps) {
    this.#deps = deps;
    this.#attachments = new PodAttachments(deps, this.#waits, (uid, name) => this.#of(uid).has(name));
  }

  /** Rejects with a `PodError` (`FailedMount`, `FailedMapVolume`) that names the volume, or a `PodRejectedError`. */
  async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    this.#wanted.set(pod.metadata.uid, pod);
    const volumes = volumesInUse(pod);
    const folder = podDirectory(this.#deps.settings.rootDir, pod.metadata.uid);
    const mountPoints = volumes.length > 0 ? await mountPointsBelow(folder, this.#deps) : [];
    const deadline = this.#deps.clock.deadline(ATTACH_AND_MOUNT_MS);
    const patience = AbortSignal.any([signal, deadline]);
    const setUp = (volume: VolumeInUse): Promise<PodVolume> =>
      this.#setUp(pod, volume, mountPoints, patience)
        .catch((error: unknown) => this.#keepPrevious(pod, volume, error, patience))
        .catch((error: unknown) => {
          throw this.#withAbortedWait(pod, volume, error);
        });
    const { done, errors, unmounted, unattached } = await settleVolumes(volumes, setUp, signal, deadline);
    if (unattached.length > 0 && (await this.#attachments.isLimitExceeded(pod.metadata.uid, signal))) {
      throw attachLimitExceeded({ unmounted, unattached });
    }
    this.#throwMountErrors(pod, errors);
    this.#ready.set(pod.metadata.uid, done);
  }

  /** What the volumes of a running `prepare` wait for. */
  pending(uid: string): readonly ErrorCause[] {
    return this.#waits.of(uid);
  }

  isStale(uid: string): boolean {
    return [...this.#of(uid).values()].some((each) => each.kind === 'filesystem' && each.isStale);
  }

  async refresh(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const before = this.#of(uid);
    if (!(await this.#areInPlace(before.values()))) return this.prepare(pod, signal);
    const refreshable = [...before].flatMap(([name, volume]) => {
      const { content } = volume.kind === 'filesystem' ? volume.mounted : volume.device;
      return content ? [{ name, refresh: () => refreshed(pod, volume, content, signal) }] : [];
    });
    const { done, errors } = await settleVolumes(refreshable, ({ refresh }) => refresh(), signal);
    this.#ready.set(uid, new Map([...before, ...done]));
    this.#throwMountErrors(pod, errors);
  }

  /** File systems of a prepared pod, by the name of the volume in its spec. */
  volumes(uid: string): ReadonlyMap<string, ContainerVolume> {
    const all = [...this.#of(uid)];
    return new Map(all.flatMap(([name, each]) => (each.kind === 'filesystem' ? [[name, each.mounted]] : [])));
  }

  /** Volumes of all prepared pods that have a path on the host, by the UID of the pod. */
  measurable(): ReadonlyMap<string, readonly MeasurableVolume[]> {
    return new Map([...this.#ready].map(([uid, volumes]) => [uid, [...volumes].flatMap(measurableVolume)]));
  }

  /** What the files below the directory of a volume use, if its file system counts it. */
  async countedUsage(path: string): Promise<ProjectUsage | undefined> {
    return this.#deps.quotas?.usage(path);
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
    const specs = [...this.#of(uid).values()].map(({ spec }) => spec);
    this.#ready.delete(uid);
    this.#wanted.delete(uid);
    for (const plugin of this.#deps.plugins) plugin.forget?.(uid, this.#deps);
    await releaseVolumes({ uid, specs }, this.#deps, signal);
    await this.#attachments.release(uid, signal);
  }

  /** Resolves to `true` when `removeOrphans` has more to do, and to `false` when the signal aborts. */
  orphaned(signal: AbortSignal): Promise<boolean> {
    return this.#deps.nodeVolumes.orphaned(signal);
  }

  /** Removes volumes that are mounted on the node, and that no pod uses. Pods may be prepared and released meanwhile. */
  async removeOrphans(signal: AbortSignal): Promise<void> {
    await waitForAll(
      this.#deps.plugins.map((plugin) => plugin.removeOrphans?.(this.#deps, signal) ?? Promise.resolve()),
    );
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
    const beganMs = this.#deps.clock.monotonic();
    const isSetUp = this.#of(pod.metadata.uid).has(volume.name);
    const spec = await this.#resolve(pod, { name: volume.name, volume, use }, isSetUp, signal);
    const plugin = findVolumePlugin(spec, this.#deps.plugins);
    if (!plugin) throw unsupportedVolume(spec);
    checkNodeAffinity(spec, this.#deps.nodeLabels());
    const setup = { pod, volume: spec, mountPoints };
    const called = measuredPlugin(plugin, spec, this.#deps.clock);
    const deps = { ...this.#deps, attachedVolumes: this.#attachments.forVolume(pod.metadata.uid, spec) };
    if (spec.mode === 'Block') {
      if (!plugin.mapDevice) throw unsupportedVolume(spec);
      try {
        const { mapDevice } = plugin;
        const device = await called('map_volume', () => mapDevice.call(plugin, setup, deps, signal));
        if (!isSetUp) recordMapped(pod, spec, device, this.#deps.events);
        publishSetUp('overall_volume_map', { plugin, spec, beganMs }, this.#deps.clock);
        return { spec, kind: 'block', device };
      } catch (error) {
        throw signal.aborted ? error : mountError(spec, error);
      }
    }
    try {
      const mounted = await called('volume_mount', () => plugin.setUp(setup, deps, signal));
      const isRelabelled = mounted.isRelabelled ?? plugin.supportsRelabel;
      publishSetUp('overall_volume_mount', { plugin, spec, beganMs }, this.#deps.clock);
      return { spec, kind: 'filesystem', mounted: { ...mounted, isRelabelled, specName: spec.name }, isStale: false };
    } catch (error) {
      recordMismatch(spec, error, this.#deps.events);
      throw signal.aborted ? error : mountError(spec, error);
    }
  }

  /** The number of volumes that pods need and that are set up. */
  counts(): VolumeCounts {
    return countVolumes(this.#wanted, this.#ready, this.#deps.plugins);
  }

  /** A volume that is set up already does not wait for its claim, nor does one whose claim wakes the pod. */
  async #resolve(
    pod: Pod,
    { name, volume, use }: VolumeInUse,
    isSetUp: boolean,
    signal: AbortSignal,
  ): Promise<VolumeSpec> {
    const resolve = (): Promise<VolumeSpec> => resolveVolume(pod, volume, use, this.#deps.claims, signal);
    if (isSetUp || this.#deps.claims.wakesPods) return resolve();
    const onWait = (error: VolumeResolutionError): void => {
      this.#recordError(pod, notMounted(name, [name], error));
    };
    const deps = { ...this.#deps, waits: this.#waits, onWait };
    return waitForClaim({ podUid: pod.metadata.uid, volume: name }, resolve, deps, signal);
  }

  /** An aborted wait rejects with the reason of the abort, which does not say what the volume waited for. */
  #withAbortedWait({ metadata }: Pod, { name }: VolumeInUse, error: unknown): unknown {
    const cause = this.#waits.takeAborted({ podUid: metadata.uid, volume: name });
    return !cause || podCauseOf(error) ? error : new CausedError(errorText(error), cause, { cause: error });
  }

  /** Uses the volume of an earlier version of the pod, as kubelet does, and records an event. */
  async #keepPrevious(pod: Pod, { name }: VolumeInUse, error: unknown, signal: AbortSignal): Promise<PodVolume> {
    const kept = this.#of(pod.metadata.uid).get(name);
    if (signal.aborted || !kept || !(await this.#areInPlace([kept]))) throw error;
    this.#recordError(pod, asPodError(name, error));
    if (kept.kind === 'block' || !kept.mounted.content) return kept;
    return { ...kept, mounted: { ...kept.mounted, content: kept.mounted.content.invalidated() }, isStale: true };
  }

  #recordError(pod: Pod, error: PodError): void {
    const { type, reason, message, cause } = podErrorEvent(error);
    this.#deps.events.record(pod, type, reason, message, undefined, cause);
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
    for (const error of errors.filter(({ silent }) => !silent)) this.#recordError(pod, error);
    const message = errors.map((error) => error.message).join(', ');
    // The typed cause names the first volume, the message has the errors of all.
    const { podCause } = first;
    const cause = podCause?.kind === 'volumeFailed' ? { podCause: { ...podCause, cause: undefined } } : {};
    throw new PodError('FailedMount', message, { silent: true, ...cause });
  }
}

function measurableVolume([name, volume]: readonly [string, PodVolume]): readonly MeasurableVolume[] {
  if (volume.kind === 'block' || volume.mounted.image) return [];
  const { path, checkResponse } = volume.mounted;
  return [{ name, spec: volume.spec, path, ...(checkResponse && { checkResponse }) }];
}

type VolumeInUse = ReturnType<typeof volumesInUse>[number];

async function refreshed(
  pod: Pod,
  volume: PodVolume,
  content: RefreshableContent,
  signal: AbortSignal,
): Promise<PodVolume> {
  try {
    const next = await content.refresh(pod, signal);
    if (volume.kind === 'block') return { ...volume, device: { ...volume.device, content: next } };
    return { ...volume, mounted: { ...volume.mounted, content: next }, isStale: false };
  } catch (error) {
    throw mountError(volume.spec, error);
  }
}
