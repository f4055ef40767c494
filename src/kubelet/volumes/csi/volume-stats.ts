import type { CsiDrivers } from '../../../plugins/csi/csi-drivers.ts';
import { VolumeUsage_Unit as Unit } from '../../../plugins/generated/csi-v1.ts';

/** The usage of a volume as its driver reports it. Units that it does not report are zero, as in kubelet. */
export interface CsiVolumeStats {
  readonly capacityBytes: bigint;
  readonly availableBytes: bigint;
  readonly usedBytes: bigint;
  readonly inodes: bigint;
  readonly inodesFree: bigint;
  readonly inodesUsed: bigint;
}

/** `undefined`: the driver does not report the usage of volumes. Rejects as `CsiDrivers.driver` and the driver do. */
export async function csiVolumeStats(
  drivers: CsiDrivers,
  volume: { readonly driver: string; readonly handle: string; readonly path: string },
  signal: AbortSignal,
): Promise<CsiVolumeStats | undefined> {
  const driver = drivers.driver(volume.driver);
  if (!driver.capabilities.has('GET_VOLUME_STATS')) return undefined;
  const request = { volumeId: volume.handle, volumePath: volume.path, stagingTargetPath: '' };
  const { usage } = await driver.volumeStats(request, signal);
  if (usage.length === 0) throw new Error('failed to get usage from response. usage is nil');
  const bytes = usage.findLast(({ unit }) => unit === Unit.BYTES);
  const inodes = usage.findLast(({ unit }) => unit === Unit.INODES);
  return {
    capacityBytes: bytes?.total ?? 0n,
    availableBytes: bytes?.available ?? 0n,
    usedBytes: bytes?.used ?? 0n,
    inodes: inodes?.total ?? 0n,
    inodesFree: inodes?.available ?? 0n,
    inodesUsed: inodes?.used ?? 0n,
  };
}
