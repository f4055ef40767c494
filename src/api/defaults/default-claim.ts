import type { PersistentVolume, PersistentVolumeClaim } from '../generated/core-v1.ts';

/** A claim with the API server's defaults. */
export function defaultClaim(claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const { spec = {}, status } = claim;
  return {
    ...claim,
    spec: { ...spec, volumeMode: spec.volumeMode ?? 'Filesystem' },
    status: { ...status, phase: status?.phase || 'Pending' },
  };
}

/** A persistent volume with the API server's defaults. */
export function defaultPersistentVolume(volume: PersistentVolume): PersistentVolume {
  const { spec = {}, status } = volume;
  return {
    ...volume,
    spec: {
      ...spec,
      persistentVolumeReclaimPolicy: spec.persistentVolumeReclaimPolicy || 'Retain',
      volumeMode: spec.volumeMode ?? 'Filesystem',
      ...(spec.hostPath && { hostPath: { ...spec.hostPath, type: spec.hostPath.type ?? '' } }),
    },
    status: { ...status, phase: status?.phase || 'Pending' },
  };
}
