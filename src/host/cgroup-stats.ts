import type { InterfaceCounters } from './network-namespaces.ts';

/**
 * Usage that control groups count. Paths are those of `Cgroups`; a path's figures include the cgroups below it. Every call
 * takes many paths or pids at once, leaves out missing ones, and yields to the event loop regularly.
 */
export interface CgroupStats {
  readonly version: 'v1' | 'v2';

  usage(paths: readonly string[]): Promise<ReadonlyMap<string, CgroupUsage>>;

  /** Reads more files per path: the usage and what metrics show beside it. */
  details(paths: readonly string[]): Promise<ReadonlyMap<string, CgroupDetails>>;

  /**
   * These cgroups and all below them, each once, parents first; with the wall-clock milliseconds of their creation, which is
   * read only where `known` does not have it.
   */
  tree(paths: readonly string[], known?: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>>;

  /** The open files of processes. */
  openFiles(pids: readonly number[]): Promise<ReadonlyMap<number, OpenFiles>>;

  /** The soft limits of `RLIMIT_NOFILE`. */
  fileLimits(pids: readonly number[]): Promise<ReadonlyMap<number, FileLimit>>;

  /** The interfaces that a process sees, loopback included. */
  interfaces(pids: readonly number[]): Promise<ReadonlyMap<number, readonly InterfaceCounters[]>>;
}

export interface OpenFiles {
  readonly descriptors: number;
  /** Of these, sockets. */
  readonly sockets: number;
}

export type FileLimit = number | 'unlimited';

export interface CgroupUsage {
  readonly cpuNs: bigint;
  readonly memory: {
    /** Page cache included. */
    readonly usageBytes: number;
    /** Without inactive file pages, which the kernel reclaims first. */
    readonly workingSetBytes: number;
    readonly rssBytes: number;
    readonly pageFaults: number; // words: quoted
    readonly majorPageFaults: number; // words: quoted
    /** Absent: no limit. */
    readonly limitBytes?: number;
  };
  /** Absent where swap is not counted. */
  readonly swap?: { readonly usageBytes: number; readonly limitBytes?: number };
  /** Pids of the cgroup itself, without those of the cgroups below. */
  readonly processes: readonly number[];
  /** Absent where the kernel does not report it: always with version 1. */
  readonly pressure?: {
    readonly cpu: PressureStall;
    readonly memory: PressureStall;
    readonly io: PressureStall;
  };
}

export interface PressureStall {
  readonly some: PressureFigures;
  readonly full: PressureFigures;
}

export interface PressureFigures {
  readonly totalMicroseconds: bigint;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

export interface CgroupDetails extends CgroupUsage {
  readonly cpu: {
    readonly userNs: bigint;
    readonly systemNs: bigint;
    readonly periods: number;
    readonly throttledPeriods: number;
    readonly throttledNs: bigint;
    readonly burstPeriods: number;
    readonly burstNs: bigint;
  };
  /** Absent values: the cgroup has no such file, or no limit. */
  readonly limits: {
    /** In version 1's unit. */
    readonly cpuShares?: number;
    readonly cpuPeriodMicroseconds?: number;
    readonly cpuQuotaMicroseconds?: number;
    /** `memory.soft_limit_in_bytes`, or `memory.min`. */
    readonly memoryReservationBytes?: number;
  };
  readonly memoryDetails: {
    readonly cacheBytes: number;
    readonly kernelBytes: number;
    readonly mappedFileBytes: number;
    readonly activeFileBytes: number;
    readonly inactiveFileBytes: number;
    readonly maxUsageBytes: number;
    /** The number of times the limit was hit. */
    readonly limitHits: number;
    readonly oomKills: number;
  };
  /** As the kernel counts for `pids.max`. */
  readonly threads: number;
  /** Absent: no limit. */
  readonly threadsLimit?: number;
  readonly devices: readonly DeviceTraffic[];
}

/** Traffic of one block device. */
export interface DeviceTraffic {
  readonly major: number;
  readonly minor: number;
  readonly readBytes: bigint;
  readonly writeBytes: bigint;
  readonly reads: bigint;
  readonly writes: bigint;
}
