import { podDirectory } from '../pod/pod-paths.ts';

export const EMPTY_DIR_PLUGIN = 'kubernetes.io/empty-dir';

/** The directory of the pod's volumes. */
export function volumesDirectory(rootDir: string, podUid: string): string {
  return `${podDirectory(rootDir, podUid)}/volumes`;
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
  return `${volumesDirectory(rootDir, podUid)}/${pluginFolder(pluginName)}/${volumeName}`;
}

/**
 * A file that exists once the directory of the volume is set up completely. Other plugins stand on an empty directory
 * too; their file is named `wrapped_…`, as in kubelet.
 */
export function readyFile(rootDir: string, podUid: string, pluginName: string, volumeName: string): string {
  const name = pluginName === EMPTY_DIR_PLUGIN ? volumeName : `wrapped_${volumeName}`;
  return `${pluginsDirectory(rootDir, podUid)}/${pluginFolder(EMPTY_DIR_PLUGIN)}/${name}/ready`;
}

/** `kubernetes.io/empty-dir` → `kubernetes.io~empty-dir`. */
function pluginFolder(pluginName: string): string {
  return pluginName.replaceAll('/', '~');
}
