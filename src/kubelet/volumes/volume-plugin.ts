import type { ImageVolumeSource, Pod } from '../../api/generated/core-v1.ts';
import type { ResourceList } from '../../api/pod-resources.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';
import type { Processes } from '../../host/processes.ts';
import type { Random } from '../../host/random.ts';
import type { PodEvents } from '../events/pod-events.ts';
import type { PodObjects } from '../objects/pod-objects.ts';
import type { PodCertificates } from '../pod-certificates/pod-certificates.ts';
import type { PodTokens } from '../tokens/pod-tokens.ts';
import type { TrustBundles } from '../trust-bundles/trust-bundles.ts';
import type { AttachedVolumes } from './attached-volumes.ts';
import type { NodeVolumes, NodeVolumeUse } from './node-volumes.ts';
import type { VolumeQuotas } from './quotas/volume-quotas.ts';
import type { VolumeSpec } from './volume-spec.ts';

/** A volume as containers mount it. */
export type ContainerVolume = HostVolume | ImageVolume;

/** A volume with a path on the host. */
export interface HostVolume {
  readonly path: string;
  /** The `name` of its `VolumeSpec`; absent: the name in the pod. */
  readonly specName?: string;
  readonly image?: undefined;
  /** Mounts are read-only even if the container does not ask for it. */
  readonly readOnly: boolean;
  /** The runtime relabels the files for the containers that mount them, if SELinux is enabled. */
  readonly isRelabelled?: boolean;
  /**
   * Present for a volume of a server that may not answer: system calls on its files would then never return. Called before
   * a container gets the volume; rejects with a `CausedError`.
   */
  readonly checkResponse?: (signal: AbortSignal) => Promise<void>;
}

/** A block volume as containers see it. */
export interface HostDevice {
  /** A block device of the host, or a link to one. */
  readonly path: string;
  /** The directory of the volume with one file for each of its pods. */
  readonly globalMapPath: string;
  readonly readOnly: boolean;
  /** Present when the device changes by itself: it may grow. */
  readonly content?: RefreshableContent;
}

/** A volume that the runtime mounts from an image. It has no path on the host. */
export interface ImageVolume {
  readonly specName?: string;
  readonly image: ImageVolumeSource;
  readonly path?: undefined;
  readonly readOnly: true;
  readonly isRelabelled?: boolean;
}

/** A volume that is set up. */
export type MountedVolume = ContainerVolume & MountedState;

interface MountedState {
  /** A path that exists as long as the volume is set up. Absent: the volume is a path of the host itself. */
  readonly marker?: string;
  /** Present when the content changes by itself. */
  readonly content?: RefreshableContent;
}

/** Content that follows ConfigMaps, Secrets, pod fields or tokens. The object itself is immutable. */
export interface RefreshableContent {
  /** Rewrites the content if its sources have changed, and resolves to the content as it is now. */
  refresh(pod: Pod, signal: AbortSignal): Promise<RefreshableContent>;
  /** The same content, which the next `refresh` rewrites in any case. */
  invalidated(): RefreshableContent;
}

export interface VolumeSetup {
  readonly pod: Pod;
  readonly volume: VolumeSpec;
  /** Mount points below the pod's directory. */
  readonly mountPoints: readonly string[];
}

/** A volume of a pod that was found by its directory; the pod's spec may be lost. */
export interface VolumeOnDisk {
  readonly podUid: string;
  /** The `name` of its `VolumeSpec`. */
  readonly name: string;
  /** Its directory, or that of the link to its device. */
  readonly path: string;
}

export interface VolumePluginDeps {
  /** All supported volume types: `VOLUME_PLUGINS`, and those that need more than these dependencies. */
  readonly plugins: readonly VolumePlugin[];
  readonly fs: FileSystem;
  readonly mounts: Mounts;
  readonly clock: Clock;
  readonly random: Random;
  readonly processes: Processes;
  readonly events: PodEvents;
  readonly objects: PodObjects;
  readonly tokens: PodTokens;
  readonly trustBundles: TrustBundles;
  readonly podCertificates: PodCertificates;
  readonly nodeVolumes: NodeVolumes;
  readonly attachedVolumes: AttachedVolumes;
  /** The node's allocatable resources: shown for limits that a container does not set. */
  readonly allocatable: ResourceList;
  readonly settings: {
    readonly rootDir: string;
    readonly memoryCapacityBytes: number;
  };
  /** The kernel mounts a tmpfs whose content stays in memory. */
  readonly tmpfsNoswap: boolean;
  /** Absent: the feature gate LocalStorageCapacityIsolationFSQuotaMonitoring is off. */
  readonly quotas?: VolumeQuotas | undefined;
}

/**
 * One volume type, as kubelet's `VolumePlugin`. A new type is one file that exports a plugin, and one line in
 * `VOLUME_PLUGINS`.
 *
 * 1. `setUp` is idempotent: it is repeated for every sync of a new pod version and after a restart of the agent.
 * 2. Files and mounts of a plugin for a pod are below `volumePath`, links to devices below `volumeDevicePath`. After
 *    `tearDown`, `PodVolumes` unmounts and removes what is left of them.
 * 3. `tearDown` and `unmapDevice` need nothing but the directory: the pod may be one of an earlier process. They are
 *    repeated until they succeed, and safe after a `setUp` that failed half-way.
 * 4. `forget` drops state in memory. It is safe for a pod without such a volume.
 */
export interface VolumePlugin {
  /** kubelet's name, which also names the plugin's directories: `kubernetes.io/empty-dir`. */
  readonly name: string;
  /** The files belong to the pod alone, so the runtime may relabel them for SELinux. */
  readonly supportsRelabel: boolean;
  canSupport(volume: VolumeSpec): boolean;
  /** Rejects with kubelet's message, in a `VolumeError` for all steps but the last. */
  setUp(setup: VolumeSetup, deps: VolumePluginDeps, signal: AbortSignal): Promise<MountedVolume>;
  tearDown?(volume: VolumeOnDisk, deps: VolumePluginDeps, signal: AbortSignal): Promise<void>;
  /** As `setUp`, for a volume of mode `Block`. Absent: the type has none. */
  mapDevice?(setup: VolumeSetup, deps: VolumePluginDeps, signal: AbortSignal): Promise<HostDevice>;
  unmapDevice?(volume: VolumeOnDisk, deps: VolumePluginDeps, signal: AbortSignal): Promise<void>;
  /** The volume of the node that this volume of a pod uses. */
  nodeVolumeOf?(volume: VolumeOnDisk, deps: Pick<VolumePluginDeps, 'fs'>): Promise<NodeVolumeUse['id'] | undefined>;
  /** Removes what an earlier process left of volumes of the node that no pod uses. Repeated until it succeeds. */
  removeOrphans?(deps: VolumePluginDeps, signal: AbortSignal): Promise<void>;
  forget?(podUid: string, deps: VolumePluginDeps): void;
}

/** A plugin in terms of the part of the API's `Volume` or `PersistentVolume` that it handles. */
export interface VolumePluginSpec<Source> extends Omit<VolumePlugin, 'canSupport' | 'setUp' | 'mapDevice'> {
  source(volume: VolumeSpec): Source | undefined;
  setUp(source: Source, setup: VolumeSetup, deps: VolumePluginDeps, signal: AbortSignal): Promise<MountedVolume>;
  mapDevice?(source: Source, setup: VolumeSetup, deps: VolumePluginDeps, signal: AbortSignal): Promise<HostDevice>;
}

export function volumePlugin<Source extends object>(spec: VolumePluginSpec<Source>): VolumePlugin {
  const { source: findSource, setUp, mapDevice, ...others } = spec;
  const sourceOf = (volume: VolumeSpec): Source => {
    const source = findSource(volume);
    if (!source) throw new Error(`volume "${volume.name}" is not of type ${spec.name}`);
    return source;
  };
  return {
    ...others,
    canSupport: (volume) => Boolean(findSource(volume)),
    setUp: async (setup, deps, signal) => setUp(sourceOf(setup.volume), setup, deps, signal),
    ...(mapDevice && {
      mapDevice: async (setup, deps, signal) => mapDevice(sourceOf(setup.volume), setup, deps, signal),
    }),
  };
}
