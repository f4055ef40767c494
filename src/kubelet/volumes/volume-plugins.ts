import { configMapPlugin, downwardApiPlugin, projectedPlugin, secretPlugin } from './content-plugins.ts';
import { emptyDirPlugin } from './empty-dir.ts';
import { hostPathPlugin } from './host-path.ts';
import { pluginFolder } from './volume-paths.ts';
import type { VolumePlugin } from './volume-plugin.ts';
import type { VolumeSpec } from './volume-spec.ts';

/** All supported volume types. */
export const VOLUME_PLUGINS: readonly VolumePlugin[] = [
  hostPathPlugin,
  emptyDirPlugin,
  configMapPlugin,
  secretPlugin,
  downwardApiPlugin,
  projectedPlugin,
];

/** `undefined` for a volume of an unsupported type. */
export function findVolumePlugin(volume: VolumeSpec): VolumePlugin | undefined {
  return VOLUME_PLUGINS.find((plugin) => plugin.canSupport(volume));
}

/** The plugin whose directories have this name: `kubernetes.io~csi`. */
export function pluginOfFolder(folder: string): VolumePlugin | undefined {
  return VOLUME_PLUGINS.find(({ name }) => pluginFolder(name) === folder);
}
