import type { FsStats } from '../../api/stats-summary.ts';
import { byCodePoint } from '../../base/code-point-order.ts';
import type { FileSystemUsage } from '../../host/file-system.ts';

/** What files use on a disk, and when that was measured. */
export interface MeasuredUsage {
  readonly time: string;
  readonly usedBytes?: number;
  readonly inodesUsed?: number;
}

/** A file system as a whole. */
export function diskStats(time: string, disk: FileSystemUsage): FsStats {
  const { usedBytes, inodes, inodesFree } = disk;
  return usageOnDisk({ time, usedBytes, inodesUsed: inodes - inodesFree }, disk);
}

/** The usage of some files on a disk. `disk` is absent if it could not be read. */
export function usageOnDisk(
  { time, usedBytes, inodesUsed }: MeasuredUsage,
  disk: FileSystemUsage | undefined,
): FsStats {
  return {
    time,
    ...(disk && { availableBytes: disk.availableBytes, capacityBytes: disk.capacityBytes }),
    ...(usedBytes !== undefined && { usedBytes }),
    ...(disk && { inodesFree: disk.inodesFree, inodes: disk.inodes }),
    ...(inodesUsed !== undefined && { inodesUsed }),
  };
}

/** The parts together, at the time of the newest. A figure is absent if no part has it. */
export function sumOfUsages(time: string, parts: readonly MeasuredUsage[]): MeasuredUsage {
  const bytes = parts.flatMap(({ usedBytes }) => usedBytes ?? []);
  const inodes = parts.flatMap(({ inodesUsed }) => inodesUsed ?? []);
  return {
    time: [time, ...parts.map((part) => part.time)].toSorted(byCodePoint).at(-1) ?? time,
    ...(bytes.length > 0 && { usedBytes: sum(bytes) }),
    ...(inodes.length > 0 && { inodesUsed: sum(inodes) }),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
