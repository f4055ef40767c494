import type { VolumeStats } from '../../api/stats-summary.ts';
import type { Metric, Sample } from '../../base/metrics/metric-registry.ts';
import type { ClaimStatsSource } from '../stats/stats-source.ts';

type ClaimStats = VolumeStats & Required<Pick<VolumeStats, 'pvcRef'>>;

const FIGURES: readonly (readonly [name: string, help: string, value: (volume: VolumeStats) => number | undefined])[] =
  [
    ['capacity_bytes', 'Capacity in bytes of the volume', ({ capacityBytes }) => capacityBytes],
    ['available_bytes', 'Number of available bytes in the volume', ({ availableBytes }) => availableBytes],
    ['used_bytes', 'Number of used bytes in the volume', ({ usedBytes }) => usedBytes],
    ['inodes', 'Maximum number of inodes in the volume', ({ inodes }) => inodes],
    ['inodes_free', 'Number of free inodes in the volume', ({ inodesFree }) => inodesFree],
    ['inodes_used', 'Number of used inodes in the volume', ({ inodesUsed }) => inodesUsed],
    [
      'health_status_abnormal',
      'Abnormal volume health status. The count is either 1 or 0. 1 indicates the volume is unhealthy, 0 indicates volume is healthy',
      ({ volumeHealthStats }) => (volumeHealthStats ? Number(volumeHealthStats.abnormal) : undefined),
    ],
  ];

/** The usage of claims, under kubelet's names. A claim that several pods use is counted once. */
export function volumeStatsMetrics(stats: ClaimStatsSource): readonly Metric[] {
  const claims = new Map<string, ClaimStats>();
  for (const volume of stats.claims()) {
    const { pvcRef } = volume;
    if (pvcRef && !claims.has(keyOf(pvcRef))) claims.set(keyOf(pvcRef), { ...volume, pvcRef });
  }
  return FIGURES.map(([name, help, value]) => ({
    type: 'gauge',
    name: `kubelet_volume_stats_${name}`,
    help: `[ALPHA] ${help}`,
    samples: [...claims.values()].flatMap((volume) => sample(volume, value(volume))),
  }));
}

function keyOf({ namespace, name }: ClaimStats['pvcRef']): string {
  return `${namespace}/${name}`;
}

function sample({ pvcRef }: ClaimStats, value: number | undefined): readonly Sample[] {
  if (value === undefined) return [];
  return [{ labels: { namespace: pvcRef.namespace, persistentvolumeclaim: pvcRef.name }, value }];
}
