import { dirname } from 'node:path';
import type { FileSystem } from '../../../host/file-system.ts';
import type { CsiDrivers } from '../../../plugins/csi/csi-drivers.ts';
import { VolumeUsage_Unit as Unit } from '../../../plugins/generated/csi-v1.ts';
import type { VolumeUsage } from '../volume-usage.ts';
import { podVolumePathsIn } from './csi-paths.ts';
import { loadVolumeData } from './volume-data.ts';

/** The usage of a volume as its driver reports it. Units that it does not report are zero, as in kubelet. */
export type CsiVolumeUsage = Omit<VolumeUsage, 'measuredMs'>;

/**
 * Asks the driver of the volume that is published at `path`. `undefined`: it does not report usage, or the volume is not
 * published. Rejects as `CsiDrivers.driver` and the driver do.
 */
export async function csiVolumeUsage(
  path: string,
  { fs, drivers }: { readonly fs: FileSystem; readonly drivers: CsiDrivers },
  signal: AbortSignal,
): Promise<CsiVolumeUsage | undefined> {
  const known = await loadVolumeData(podVolumePathsIn(dirname(path)).data, fs);
  if (!known) return undefined;
  const driver = drivers.driver(known.driver);
  if (!driver.capabilities.has('GET_VOLUME_STATS')) return undefined;
  const request = { volumeId: known.handle, volumePath: path, stagingTargetPath: '' };
  const { usage } = await driver.volumeStats(request, signal);
  if (usage.length === 0) throw new Error('failed to get usage from response. usage is nil');
  const bytes = usage.findLast(({ unit }) => unit === Unit.BYTES);
  const inodes = usage.findLast(({ unit }) => unit === Unit.INODES);
  return {
    capacityBytes: Number(bytes?.total ?? 0n),
    availableBytes: Number(bytes?.available ?? 0n),
    usedBytes: Number(bytes?.used ?? 0n),
    inodes: Number(inodes?.total ?? 0n),
    inodesFree: Number(inodes?.available ?? 0n),
    inodesUsed: Number(inodes?.used ?? 0n),
  };
}
