import type { ImageVolumeSource, Pod, Volume } from '../../api/generated/core-v1.ts';
import type { ResourceList } from '../../api/pod-resources.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';
import type { Random } from '../../host/random.ts';
import type { PodObjects } from '../objects/pod-objects.ts';
import type { PodTokens } from '../tokens/pod-tokens.ts';

/** A volume as containers mount it. */
export type ContainerVolume = HostVolume | ImageVolume;

/** A volume with a path on the host. */
export interface HostVolume {
  readonly path: string;
  readonly image?: undefined;
  /** Mounts are read-only even if the container does not ask for it. */
  readonly readOnly: boolean;
}

/** A volume that the runtime mounts from an image. It has no path on the host. */
export interface ImageVolume {
  readonly image: ImageVolumeSource;
  readonly path?: undefined;
  readonly readOnly: true;
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
  readonly volume: Volume;
  /** Mount points below the pod's directory. */
  readonly mountPoints: readonly string[];
}

export interface VolumePluginDeps {
  readonly fs: FileSystem;
  readonly mounts: Mounts;
  readonly clock: Clock;
  readonly random: Random;
  readonly objects: PodObjects;
  readonly tokens: PodTokens;
  /** The node's allocatable resources: shown for limits that a container does not set. */
  readonly allocatable: ResourceList;
  readonly settings: {
    readonly rootDir: string;
    readonly memoryCapacityBytes: number;
  };
  /** The kernel mounts a tmpfs whose content stays in memory. */
  readonly tmpfsNoswap: boolean;
}

/**
 * One volume type, as kubelet's `VolumePlugin`. A new type is one file that exports a plugin, and one line in
 * `VOLUME_PLUGINS`.
 *
 * 1. `setUp` is idempotent: it is repeated for every sync of a new pod version and after a restart of the agent.
 * 2. Files and mounts of a plugin are below `volumePath`. `PodVolumes` unmounts and removes them when the pod is
 *    released, without asking the plugin.
 * 3. `tearDown` drops other state of a pod. It is safe for a pod without such a volume.
 */
export interface VolumePlugin {
  /** kubelet's name, which also names the plugin's directories: `kubernetes.io/empty-dir`. */
  readonly name: string;
  /** The files belong to the pod alone, so the runtime may relabel them for SELinux. */
  readonly supportsRelabel: boolean;
  canSupport(volume: Volume): boolean;
  /** Rejects with kubelet's message. */
  setUp(setup: VolumeSetup, deps: VolumePluginDeps, signal: AbortSignal): Promise<MountedVolume>;
  tearDown?(podUid: string, deps: VolumePluginDeps): void;
}

/** A plugin in terms of the part of the API's `Volume` that it handles. */
export interface VolumePluginSpec<Source> extends Pick<VolumePlugin, 'name' | 'supportsRelabel' | 'tearDown'> {
  source(volume: Volume): Source | undefined;
  setUp(source: Source, setup: VolumeSetup, deps: VolumePluginDeps, signal: AbortSignal): Promise<MountedVolume>;
}

export function volumePlugin<Source extends object>(spec: VolumePluginSpec<Source>): VolumePlugin {
  return {
    ...spec,
    canSupport: (volume) => Boolean(spec.source(volume)),
    async setUp(setup, deps, signal) {
      const source = spec.source(setup.volume);
      if (!source) throw new Error(`volume "${setup.volume.name}" is not of type ${spec.name}`);
      return spec.setUp(source, setup, deps, signal);
    },
  };
}
