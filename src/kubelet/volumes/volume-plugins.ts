import { configMapPlugin, downwardApiPlugin, projectedPlugin, secretPlugin } from './content-plugins.ts';
import { emptyDirPlugin } from './empty-dir.ts';
import { fcPlugin } from './fc-volume.ts';
import { hostPathPlugin } from './host-path.ts';
import { imageVolumePlugin } from './image-volume-plugin.ts';
import { iscsiPlugin } from './iscsi-volume.ts';
import { localVolumePlugin } from './local-volume.ts';
import { nfsPlugin } from './nfs-volume.ts';
import { pluginFolder } from './volume-paths.ts';
import type { VolumePlugin } from './volume-plugin.ts';
import type { VolumeSpec } from './volume-spec.ts';

/** The volume types that need nothing but `VolumePluginDeps`. */
export const VOLUME_PLUGINS: readonly VolumePlugin[] = [
  hostPathPlugin,
  emptyDirPlugin,
  configMapPlugin,
  secretPlugin,
  downwardApiPlugin,
  projectedPlugin,
  localVolumePlugin,
  nfsPlugin,
  imageVolumePlugin,
  iscsiPlugin,
  fcPlugin,
];

/** `undefined` for a volume of an unsupported type. */
export function findVolumePlugin(volume: VolumeSpec, plugins: readonly VolumePlugin[]): VolumePlugin | undefined {
  return plugins.find((plugin) => plugin.canSupport(volume));
}

/** The plugin whose directories have this name: `kubernetes.io~csi`. */
export function pluginOfFolder(folder: string, plugins: readonly VolumePlugin[]): VolumePlugin | undefined {
  return plugins.find(({ name }) => pluginFolder(name) === folder);
}
