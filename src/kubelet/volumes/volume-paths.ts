import { podDirectory } from '../pod/pod-paths.ts';

/** Volumes that live below kubelet's root, each in the folder of its type. */
const TYPE_FOLDERS = {
  emptyDir: 'kubernetes.io~empty-dir',
  configMap: 'kubernetes.io~configmap',
  secret: 'kubernetes.io~secret',
  downwardAPI: 'kubernetes.io~downward-api',
  projected: 'kubernetes.io~projected',
} as const;

export type OwnVolumeType = keyof typeof TYPE_FOLDERS;

/** Where kubelet keeps the volumes of a pod that live below its root. */
export function volumesDirectory(rootDir: string, podUid: string): string {
  return `${podDirectory(rootDir, podUid)}/volumes`;
}

/** What is known of a pod's volumes besides their content. */
export function pluginsDirectory(rootDir: string, podUid: string): string {
  return `${podDirectory(rootDir, podUid)}/plugins`;
}

/** Where places inside volumes are bound to for the containers that want no more than those. */
export function subPathsDirectory(rootDir: string, podUid: string): string {
  return `${podDirectory(rootDir, podUid)}/volume-subpaths`;
}

export function volumePath(rootDir: string, podUid: string, type: OwnVolumeType, volumeName: string): string {
  return `${volumesDirectory(rootDir, podUid)}/${TYPE_FOLDERS[type]}/${volumeName}`;
}

/**
 * Its being there says that the folder of the volume was set up completely. Every type stands on an empty folder, which
 * has a name of its own where it is not the whole volume.
 */
export function readyFile(rootDir: string, podUid: string, type: OwnVolumeType, volumeName: string): string {
  const name = type === 'emptyDir' ? volumeName : `wrapped_${volumeName}`;
  return `${pluginsDirectory(rootDir, podUid)}/${TYPE_FOLDERS.emptyDir}/${name}/ready`;
}
