/** Where the CPUs and the memory of the machine are, as the CPU, memory and topology managers see it. */
export interface MachineTopology {
  /** Online CPUs by id. */
  readonly cpus: ReadonlyMap<number, CpuPlace>;
  /** In ascending order of their ids; at least one. */
  readonly numaNodes: readonly NumaNode[];
}

export interface CpuPlace {
  /** The lowest id among the CPUs (threads) of its core: unique on the machine. */
  readonly coreId: number;
  readonly socketId: number;
  readonly numaNodeId: number;
  /** The id of the last-level cache that it shares. */
  readonly uncoreCacheId: number;
}

export interface NumaNode {
  readonly id: number;
  readonly memoryBytes: number;
  /** The number of huge pages by page size in KiB. */
  readonly hugePages: ReadonlyMap<number, number>;
  /** Distance to each node, by position in `numaNodes`: 10 for itself. */
  readonly distances: readonly number[];
}
