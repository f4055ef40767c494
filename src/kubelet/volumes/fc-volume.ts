import { basename } from 'node:path';
import type { FCVolumeSource } from '../../api/generated/core-v1.ts';
import { diskIdOf, mapDisk, mountDisk, type NetworkDisk, tearDownDisk, unmapDisk } from './block-disk.ts';
import { attachFcDisk, detachFcDisk, diskOfFcFolder, fcDisk, fcFolder, fcName } from './disks/fc-disk.ts';
import { makeNodeDirectory } from './make-node-directory.ts';
import { VolumeError } from './volume-error.ts';
import { nodePluginDirectory } from './volume-paths.ts';
import { type VolumePluginDeps, type VolumeSetup, volumePlugin } from './volume-plugin.ts';
import type { VolumeSpec } from './volume-spec.ts';

const PLUGIN = 'kubernetes.io/fc';

type FcVolume = FCVolumeSource & { readonly readOnly: boolean };

/** A disk of a Fibre Channel network, which the adapters of the node see. */
export const fcPlugin = volumePlugin<FcVolume>({
  name: PLUGIN,
  supportsRelabel: true,
  source: fcVolume,
  setUp: async (source, setup, deps, signal) => mountDisk(networkDisk(source, setup, deps), setup, deps, signal),
  mapDevice: async (source, setup, deps, signal) => mapDisk(networkDisk(source, setup, deps), setup, deps, signal),
  tearDown: (volume, deps, signal) => tearDownDisk(PLUGIN, volume, detachWith(deps), deps, signal),
  unmapDevice: (volume, deps, signal) => unmapDisk(PLUGIN, volume, detachWith(deps), deps, signal),
  nodeVolumeOf: (volume, deps) => diskIdOf(PLUGIN, volume, deps),
});

function fcVolume({ volume, bound, readOnly }: VolumeSpec): FcVolume | undefined {
  if (volume.fc) return { ...volume.fc, readOnly: volume.fc.readOnly ?? false };
  const persistent = bound?.volume.spec.fc;
  return persistent && { ...persistent, readOnly };
}

function networkDisk(source: FcVolume, { volume }: VolumeSetup, deps: VolumePluginDeps): NetworkDisk {
  const disk = diskOf(source);
  const folder = nodePluginDirectory(deps.settings.rootDir, PLUGIN);
  const nodePath = `${folder}/${volume.mode === 'Block' ? 'volumeDevices/' : ''}${fcFolder(disk)}`;
  return {
    plugin: PLUGIN,
    id: `${PLUGIN}/${fcName(source)}`,
    nodePath,
    fsType: source.fsType ?? '',
    readOnly: source.readOnly,
    async attach(signal) {
      await makeNodeDirectory(nodePath, deps);
      return attachFcDisk(disk, deps, signal);
    },
  };
}

function diskOf(source: FcVolume) {
  try {
    return fcDisk(source);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : '';
    throw new VolumeError('MountVolume.NewMounter initialization', message, undefined, { cause });
  }
}

function detachWith(deps: VolumePluginDeps) {
  return (nodePath: string, signal: AbortSignal): Promise<void> =>
    detachFcDisk(diskOfFcFolder(basename(nodePath)), deps, signal);
}
