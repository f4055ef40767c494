import { podDirectory } from '../pod/pod-paths.ts';

export const EMPTY_DIR_PLUGIN = 'kubernetes.io/empty-dir';

/** The directory of the pod's volumes. */
export function volumesDirectory(rootDir: string, podUid: string): string {
  return `${podDirectory(rootDir, podUid)}/volumes`;
}

/** The directory of the links to the devices of the pod's block volumes. */
export function volumeDevicesDirectory(rootDir: string, podUid: string): string {
  return `${podDirectory(rootDir, podUid)}/volumeDevices`;
}

/** The directory of the state that plugins keep of the pod's volumes. */
export function pluginsDirectory(rootDir: string, podUid: string): string {
  return `${podDirectory(rootDir, podUid)}/plugins`;
}

/** The directory of the bind mounts of `subPath` mounts. */
export function subPathsDirectory(rootDir: string, podUid: string): string {
  return `${podDirectory(rootDir, podUid)}/volume-subpaths`;
}

/** `…/volumes/kubernetes.io~empty-dir/cache` */
export function volumePath(rootDir: string, podUid: string, pluginName: string, volumeName: string): string {
  return `${volumesDirectory(rootDir, podUid)}/${pluginFolder(pluginName)}/${pluginFolder(volumeName)}`;
}

/** `…/volumeDevices/kubernetes.io~csi/pv-1` */
export function volumeDevicePath(rootDir: string, podUid: string, pluginName: string, volumeName: string): string {
  return `${volumeDevicesDirectory(rootDir, podUid)}/${pluginFolder(pluginName)}/${pluginFolder(volumeName)}`;
}

/** The directory of what a plugin has for the whole node: `…/plugins/kubernetes.io/csi`. */
export function nodePluginDirectory(rootDir: string, pluginName: string): string {
  return `${rootDir}/plugins/${pluginName}`;
}

/**
 * A file that exists once the directory of the volume is set up completely. Other plugins stand on an empty directory
 * too; their file is named `wrapped_…`, as in kubelet.
 */
export function readyFile(rootDir: string, podUid: string, pluginName: string, volumeName: string): string {
  const name = pluginName === EMPTY_DIR_PLUGIN ? volumeName : `wrapped_${volumeName}`;
  return `${pluginsDirectory(rootDir, podUid)}/${pluginFolder(EMPTY_DIR_PLUGIN)}/${name}/ready`;
}

/** `kubernetes.io/empty-dir` → `kubernetes.io~empty-dir`, as kubelet escapes names of directories. */
export function pluginFolder(pluginName: string): string {
  return pluginName.replaceAll('/', '~');
}
