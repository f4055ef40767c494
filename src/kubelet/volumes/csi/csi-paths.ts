import { nodePluginDirectory, pluginFolder, volumeDevicePath, volumePath } from '../volume-paths.ts';
import { CSI_PLUGIN, sha256 } from './csi-volume.ts';

/** The paths of a volume that is staged with a file system. */
export interface StagingPaths {
  /** `…/plugins/kubernetes.io/csi/DRIVER/SHA256` */
  readonly folder: string;
  /** Where the driver stages the volume. */
  readonly mount: string;
  readonly data: string;
}

export function stagingPaths(rootDir: string, driver: string, handle: string): StagingPaths {
  return stagingPathsIn(`${driversDirectory(rootDir)}/${driver}/${sha256(handle)}`);
}

export function stagingPathsIn(folder: string): StagingPaths {
  return { folder, mount: `${folder}/globalmount`, data: dataFile(folder) };
}

/** The folders of drivers, and `volumeDevices` beside them. */
export function driversDirectory(rootDir: string): string {
  return nodePluginDirectory(rootDir, CSI_PLUGIN);
}

/** The paths of a file system volume of a pod. */
export interface PodVolumePaths {
  readonly folder: string;
  /** Where the driver publishes the volume. */
  readonly mount: string;
  readonly data: string;
}

export function podVolumePaths(rootDir: string, podUid: string, name: string): PodVolumePaths {
  return podVolumePathsIn(volumePath(rootDir, podUid, CSI_PLUGIN, name));
}

export function podVolumePathsIn(folder: string): PodVolumePaths {
  return { folder, mount: `${folder}/mount`, data: dataFile(folder) };
}

/** The paths of a block volume. */
export interface BlockPaths {
  /** All that the node keeps of the volume. */
  readonly folder: string;
  readonly dataFolder: string;
  readonly data: string;
  /** The folder of the bind mounts of the device, one for each pod. */
  readonly globalMap: string;
  /** Where the driver stages the volume. */
  readonly staging: string;
  /** The folder where the driver publishes the volume, one file for each pod. */
  readonly publishFolder: string;
}

export function blockPaths(rootDir: string, name: string): BlockPaths {
  const devices = `${driversDirectory(rootDir)}/volumeDevices`;
  const folder = `${devices}/${pluginFolder(name)}`;
  return {
    folder,
    dataFolder: `${folder}/data`,
    data: dataFile(`${folder}/data`),
    globalMap: `${folder}/dev`,
    staging: `${devices}/staging/${name}`,
    publishFolder: `${devices}/publish/${name}`,
  };
}

/** The paths of a block volume of a pod. */
export interface PodBlockPaths extends BlockPaths {
  readonly publish: string;
  /** The bind mount of the device. */
  readonly map: string;
  /** The link to the device. */
  readonly link: string;
}

export function podBlockPaths(rootDir: string, podUid: string, name: string): PodBlockPaths {
  const paths = blockPaths(rootDir, name);
  return {
    ...paths,
    publish: `${paths.publishFolder}/${podUid}`,
    map: `${paths.globalMap}/${podUid}`,
    link: volumeDevicePath(rootDir, podUid, CSI_PLUGIN, name),
  };
}

function dataFile(folder: string): string {
  return `${folder}/vol_data.json`;
}
