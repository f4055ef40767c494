/**
 * What control groups count. Paths are those of `Cgroups`; whatever is below a path is counted with it. For many at once:
 * both calls leave out paths that are not there, and give the event loop its turn now and then.
 */
export interface CgroupStats {
  readonly version: 'v1' | 'v2';

  usage(paths: readonly string[]): Promise<ReadonlyMap<string, CgroupUsage>>;

  /** More files for each: what metrics show beside the usage. */
  details(paths: readonly string[]): Promise<ReadonlyMap<string, CgroupDetails>>;
}

export interface CgroupUsage {
  readonly cpuNs: bigint;
  readonly memory: {
    /** Page cache included. */
    readonly usageBytes: number;
    /** Without what the kernel would drop first: file pages that nobody used lately. */
    readonly workingSetBytes: number;
    readonly rssBytes: number;
    readonly pageFaults: number;
    readonly majorPageFaults: number;
    /** Absent: none. */
    readonly limitBytes?: number;
  };
  /** Absent where swap is not counted. */
  readonly swap?: { readonly usageBytes: number; readonly limitBytes?: number };
  /** Threads, as the kernel counts for `pids.max`. */
  readonly threads: number;
  /** Absent where the kernel does not tell: always with version 1. */
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
  };
  readonly memoryDetails: {
    readonly cacheBytes: number;
    readonly kernelBytes: number;
    readonly mappedFileBytes: number;
    readonly activeFileBytes: number;
    readonly inactiveFileBytes: number;
    readonly maxUsageBytes: number;
    /** How often the limit was hit. */
    readonly limitHits: number;
    readonly oomKills: number;
  };
  /** Processes of the cgroup itself, not of those below. */
  readonly processes: readonly number[];
  /** Absent: none. */
  readonly threadsLimit?: number;
  readonly devices: readonly DeviceTraffic[];
}

/** Of one block device. */
export interface DeviceTraffic {
  readonly major: number;
  readonly minor: number;
  readonly readBytes: bigint;
  readonly writeBytes: bigint;
  readonly reads: bigint;
  readonly writes: bigint;
}
