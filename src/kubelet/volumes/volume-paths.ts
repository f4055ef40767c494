import { podDirectory } from '../sync/config/pod-paths.ts';

/** Where kubelet keeps the volumes of a pod that live below its root. */
export function volumesDirectory(rootDir: string, podUid: string): string {
  return `${podDirectory(rootDir, podUid)}/volumes`;
}

/** What is known of a pod's volumes besides their content. */
export function pluginsDirectory(rootDir: string, podUid: string): string {
  return `${podDirectory(rootDir, podUid)}/plugins`;
}

const EMPTY_DIR = 'kubernetes.io~empty-dir';

export function emptyDirPath(rootDir: string, podUid: string, volumeName: string): string {
  return `${volumesDirectory(rootDir, podUid)}/${EMPTY_DIR}/${volumeName}`;
}

/** Its being there says that the volume was set up completely. */
export function emptyDirReadyFile(rootDir: string, podUid: string, volumeName: string): string {
  return `${pluginsDirectory(rootDir, podUid)}/${EMPTY_DIR}/${volumeName}/ready`;
}
