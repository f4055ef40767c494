import type { CgroupDetails, CgroupStats, CgroupUsage } from '../cgroup-stats.ts';

const NOTHING: CgroupDetails = {
  cpuNs: 0n,
  memory: { usageBytes: 0, workingSetBytes: 0, rssBytes: 0, pageFaults: 0, majorPageFaults: 0 }, // words: quoted
  threads: 0,
  cpu: { userNs: 0n, systemNs: 0n, periods: 0, throttledPeriods: 0, throttledNs: 0n },
  memoryDetails: {
    cacheBytes: 0,
    kernelBytes: 0,
    mappedFileBytes: 0,
    activeFileBytes: 0,
    inactiveFileBytes: 0,
    maxUsageBytes: 0,
    limitHits: 0,
    oomKills: 0,
  },
  processes: [],
  devices: [],
};

/** Cgroups whose usage a test sets. */
export class MemoryCgroupStats implements CgroupStats {
  readonly version: 'v1' | 'v2';
  readonly #cgroups = new Map<string, CgroupDetails>();

  constructor(version: 'v1' | 'v2' = 'v2') {
    this.version = version;
  }

  /** Absent figures are those of a new cgroup. */
  set(path: string, figures: Partial<CgroupDetails>): void {
    this.#cgroups.set(path, { ...NOTHING, ...figures });
  }

  remove(path: string): void {
    this.#cgroups.delete(path);
  }

  usage(paths: readonly string[]): Promise<ReadonlyMap<string, CgroupUsage>> {
    return this.details(paths);
  }

  async details(paths: readonly string[]): Promise<ReadonlyMap<string, CgroupDetails>> {
    return new Map(
      paths.flatMap((path) => {
        const figures = this.#cgroups.get(path);
        return figures ? [[path, figures] as const] : [];
      }),
    );
  }
}
