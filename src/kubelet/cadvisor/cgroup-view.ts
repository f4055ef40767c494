import type { CgroupDetails, FileLimit, OpenFiles } from '../../host/cgroup-stats.ts';
import type { InterfaceCounters } from '../../host/network-namespaces.ts';
import type { DiskCounters } from './disk-counters.ts';

/** kubelet's labels of a cgroup; empty: none. */
export interface CgroupLabels {
  readonly container: string;
  /** The path of the cgroup. */
  readonly id: string;
  readonly image: string;
  /** The id of the container or sandbox. */
  readonly name: string;
  readonly namespace: string;
  readonly pod: string;
}

/** A cgroup as one scrape finds it. */
export interface CgroupView {
  readonly labels: CgroupLabels;
  readonly createdSeconds: number;
  /** Wall-clock milliseconds of the reading. */
  readonly timeMs: number;
  readonly figures: CgroupDetails;
  /** Version 1: of memory and swap together. Absent: no limit. */
  readonly swapLimitBytes: number | undefined;
  /** Of the processes of the cgroup itself. */
  readonly openFiles: OpenFiles;
  /** The soft limit of open files of the first process of a container, or of the machine; `undefined`: not known. */
  readonly fileLimit: FileLimit | undefined;
  /** Those of the machine and of sandboxes. */
  readonly interfaces: readonly InterfaceCounters[];
  /** The file systems of the machine, or the one of a container's writable layer. */
  readonly fileSystems: readonly FileSystemView[];
  /** By `major:minor`. */
  readonly deviceName: (device: string) => string;
}

export interface FileSystemView {
  /** `/dev/vda1`, or the mount point of a file system without a device. */
  readonly device: string;
  readonly capacityBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  /** Absent: the file system has no disk that the kernel counts. */
  readonly counters?: DiskCounters;
}
