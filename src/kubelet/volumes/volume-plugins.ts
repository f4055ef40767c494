import type { Pod, Volume } from '../../api/generated/core-v1.ts';
import { configMapPlugin, downwardApiPlugin, projectedPlugin, secretPlugin } from './content-plugins.ts';
import { emptyDirPlugin } from './empty-dir.ts';
import { hostPathPlugin } from './host-path.ts';
import { imageVolumePlugin } from './image-volume-plugin.ts';
import type { VolumePlugin } from './volume-plugin.ts';

/** All supported volume types. */
export const VOLUME_PLUGINS: readonly VolumePlugin[] = [
  hostPathPlugin,
  emptyDirPlugin,
  configMapPlugin,
  secretPlugin,
  downwardApiPlugin,
  projectedPlugin,
  imageVolumePlugin,
];

/** `undefined` for a volume of an unsupported type. */
export function findVolumePlugin(volume: Volume): VolumePlugin | undefined {
  return VOLUME_PLUGINS.find((plugin) => plugin.canSupport(volume));
}

/** The volumes whose files the runtime relabels for the containers that mount them, if SELinux is enabled. */
export function relabelledVolumes({ spec }: Pod): ReadonlySet<string> {
  const own = (spec.volumes ?? []).filter((volume) => findVolumePlugin(volume)?.supportsRelabel);
  return new Set(own.map(({ name }) => name));
}
