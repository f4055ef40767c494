import type { CgroupDetails, CgroupStats, CgroupUsage, FileLimit, OpenFiles } from '../cgroup-stats.ts';
import type { InterfaceCounters } from '../network-namespaces.ts';

const NOTHING: CgroupDetails = {
  cpuNs: 0n,
  memory: { usageBytes: 0, workingSetBytes: 0, rssBytes: 0, pageFaults: 0, majorPageFaults: 0 }, // words: quoted
  threads: 0,
  cpu: { userNs: 0n, systemNs: 0n, periods: 0, throttledPeriods: 0, throttledNs: 0n, burstPeriods: 0, burstNs: 0n },
  limits: {},
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

export interface MemoryProcessFigures {
  readonly files: OpenFiles;
  readonly fileLimit?: FileLimit;
  readonly interfaces?: readonly InterfaceCounters[];
}

/** Cgroups whose usage a test sets. */
export class MemoryCgroupStats implements CgroupStats {
  readonly version: 'v1' | 'v2';
  readonly #cgroups = new Map<string, CgroupDetails>();
  readonly #created = new Map<string, number>();
  readonly #processes = new Map<number, MemoryProcessFigures>();

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

  /** The time of creation of a cgroup that was set; 0 for others. */
  setCreated(path: string, createdMs: number): void {
    this.#created.set(path, createdMs);
  }

  setProcess(pid: number, process: MemoryProcessFigures): void {
    this.#processes.set(pid, process);
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

  async tree(paths: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const below = (path: string): readonly string[] =>
      [...this.#cgroups.keys()].filter((each) => each === path || each.startsWith(path === '/' ? '/' : `${path}/`));
    const all = paths.flatMap((path) => below(path).toSorted());
    return new Map(all.map((path) => [path, this.#created.get(path) ?? 0]));
  }

  async openFiles(pids: readonly number[]): Promise<ReadonlyMap<number, OpenFiles>> {
    return this.#ofProcesses(pids, ({ files }) => files);
  }

  async fileLimits(pids: readonly number[]): Promise<ReadonlyMap<number, FileLimit>> {
    return this.#ofProcesses(pids, ({ fileLimit }) => fileLimit);
  }

  async interfaces(pids: readonly number[]): Promise<ReadonlyMap<number, readonly InterfaceCounters[]>> {
    return this.#ofProcesses(pids, ({ interfaces }) => interfaces);
  }

  #ofProcesses<T>(
    pids: readonly number[],
    read: (process: MemoryProcessFigures) => T | undefined,
  ): ReadonlyMap<number, T> {
    return new Map(
      pids.flatMap((pid) => {
        const process = this.#processes.get(pid);
        const figures = process && read(process);
        return figures === undefined ? [] : [[pid, figures] as const];
      }),
    );
  }
}
