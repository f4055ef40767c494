import type { Pod, Volume } from '../../api/generated/core-v1.ts';
import type { ContainerStats, FsStats, NetworkStats, PodStats, VolumeStats } from '../../api/stats-summary.ts';
import { formatNanoTime } from '../../base/rfc3339.ts';
import type { FileSystemUsage } from '../../host/file-system.ts';
import { claimNameOf } from '../volumes/volume-spec.ts';
import type { VolumeUsage } from '../volumes/volume-usage.ts';
import { type MeasuredUsage, sumOfUsages, usageOnDisk } from './fs-stats.ts';
import type { PodFiles } from './log-usages.ts';
import type { ContainerReading, LayerUsage, PodReading, StatsTarget } from './runtime-reader.ts';

/** The disks of a pod, as far as they were measured. */
export interface PodStorage {
  /** The disk of the agent's root directory, which has the logs and local volumes; absent: it could not be read. */
  readonly nodeDisk: FileSystemUsage | undefined;
  /** The disks of writable layers, by a path on them. */
  readonly layerDisks: ReadonlyMap<string, FileSystemUsage>;
  readonly files: PodFiles | undefined;
  readonly volumes: ReadonlyMap<string, VolumeUsage>;
}

export interface PodStatsInputs {
  readonly target: StatsTarget;
  /** Absent: the spec is unknown. */
  readonly pod: Pod | undefined;
  readonly reading: PodReading | undefined;
  /** Absent: only CPU and memory are shown. */
  readonly storage: PodStorage | undefined;
  /** Of the node, for pods on its network. */
  readonly hostNetwork: NetworkStats | undefined;
  /** The sizes of layers as of the last reading; those of `reading` take precedence. */
  readonly layers?: ReadonlyMap<string, LayerUsage>;
  /** The time of this result. */
  readonly time: string;
}

/** One pod of `/stats/summary`, in kubelet's order of fields. */
export function podStats(inputs: PodStatsInputs): PodStats {
  const { target, pod, reading, storage, hostNetwork, time } = inputs;
  const { uid, name, namespace } = target.pod;
  const containers = containerStats(inputs);
  const network = target.sandbox.hostNetwork ? hostNetwork : reading?.network;
  const volumes = pod && storage ? volumeStats(pod, storage.volumes) : undefined;
  const shown = [...(volumes?.ephemeral ?? []), ...(volumes?.others ?? [])];
  return {
    podRef: { name, namespace, uid },
    startTime: formatNanoTime(target.sandbox.createdAt),
    containers,
    ...(reading?.cpu && { cpu: reading.cpu }),
    ...(reading?.memory && { memory: reading.memory }),
    ...(storage && reading?.io && { io: reading.io }),
    ...(storage && network && { network }),
    ...(shown.length > 0 && { volume: shown }),
    ...(storage && { 'ephemeral-storage': ephemeralStorage(time, containers, volumes?.ephemeral ?? [], storage) }),
    ...(storage && reading?.processCount !== undefined && { process_stats: { process_count: reading.processCount } }),
    ...(reading?.swap && { swap: reading.swap }),
  };
}

/** Containers of which nothing is known are left out. */
function containerStats({ target, reading, storage, layers }: PodStatsInputs): readonly ContainerStats[] {
  return target.containers.flatMap(({ id, name, createdAt }) => {
    const figures = reading?.containers.get(id);
    if (!figures) return [];
    const { cpu, memory, io, swap } = figures;
    return [
      {
        name,
        startTime: formatNanoTime(createdAt),
        ...(cpu && { cpu }),
        ...(memory && { memory }),
        ...(storage && io && { io }),
        ...(storage && diskParts(name, figures.layer ?? layers?.get(id), storage)),
        ...(swap && { swap }),
      },
    ];
  });
}

function diskParts(
  name: string,
  layer: ContainerReading['layer'],
  { layerDisks, files, nodeDisk }: PodStorage,
): Pick<ContainerStats, 'rootfs' | 'logs'> {
  const logs = files?.logs.get(name);
  return {
    ...(layer && { rootfs: usageOnDisk(layer, layerDisks.get(layer.mountpoint)) }),
    ...(logs && { logs: usageOnDisk(logs, nodeDisk) }),
  };
}

/** Writable layers, logs, local volumes and the agent's own files of the pod, as kubelet adds them up. */
function ephemeralStorage(
  time: string,
  containers: readonly ContainerStats[],
  volumes: readonly VolumeStats[],
  { files, nodeDisk }: PodStorage,
): FsStats {
  const own: readonly MeasuredUsage[] = containers.flatMap(({ rootfs, logs }) => [rootfs ?? [], logs ?? []].flat());
  const others = files ? [files.others] : [];
  return usageOnDisk(sumOfUsages(time, [...own, ...volumes, ...others]), nodeDisk);
}

/** The measured volumes of a pod. Those on the node's own disk that end with the pod count as ephemeral storage. */
export function volumeStats(
  pod: Pod,
  usages: ReadonlyMap<string, VolumeUsage>,
): { readonly ephemeral: readonly VolumeStats[]; readonly others: readonly VolumeStats[] } {
  const measured = (pod.spec.volumes ?? []).flatMap((volume) => {
    const usage = usages.get(volume.name);
    return usage ? [{ volume, stats: statsOfVolume(pod, volume, usage) }] : [];
  });
  const select = (isWanted: boolean): readonly VolumeStats[] =>
    measured.flatMap(({ volume, stats }) => (isLocalEphemeral(volume) === isWanted ? [stats] : []));
  return { ephemeral: select(true), others: select(false) };
}

function statsOfVolume(pod: Pod, volume: Volume, usage: VolumeUsage): VolumeStats {
  const claim = claimNameOf(pod, volume);
  return {
    time: formatNanoTime(BigInt(Math.trunc(usage.measuredMs)) * 1_000_000n),
    availableBytes: usage.availableBytes,
    capacityBytes: usage.capacityBytes,
    usedBytes: usage.usedBytes,
    inodesFree: usage.inodesFree,
    inodes: usage.inodes,
    inodesUsed: usage.inodesUsed,
    name: volume.name,
    ...(claim !== undefined && { pvcRef: { name: claim, namespace: pod.metadata.namespace ?? '' } }),
  };
}

/** kubelet's `IsLocalEphemeralVolume`. */
function isLocalEphemeral({ emptyDir, configMap, gitRepo }: Volume): boolean {
  return gitRepo !== undefined || configMap !== undefined || (emptyDir !== undefined && (emptyDir.medium ?? '') === '');
}
