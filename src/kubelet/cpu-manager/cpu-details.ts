import { CpuSet } from '../../base/cpu-set.ts';
import type { CpuPlace } from '../topology/machine-topology.ts';

/** A kind of group of CPUs. */
export type CpuLevel = keyof CpuPlace;

/** Some CPUs of the machine with their places. Immutable. kubelet's `CPUDetails`. */
export class CpuDetails {
  readonly #places: ReadonlyMap<number, CpuPlace>;

  constructor(places: ReadonlyMap<number, CpuPlace>) {
    this.#places = places;
  }

  get size(): number {
    return this.#places.size;
  }

  get cpus(): CpuSet {
    return new CpuSet(this.#places.keys());
  }

  place(cpu: number): CpuPlace | undefined {
    return this.#places.get(cpu);
  }

  keepOnly(cpus: CpuSet): CpuDetails {
    return new CpuDetails(new Map([...this.#places].filter(([cpu]) => cpus.has(cpu))));
  }

  without(cpus: CpuSet): CpuDetails {
    return new CpuDetails(new Map([...this.#places].filter(([cpu]) => !cpus.has(cpu))));
  }

  /** The ids of all groups of this level. */
  ids(level: CpuLevel): CpuSet {
    return new CpuSet([...this.#places.values()].map((place) => place[level]));
  }

  /** The ids of the groups of this level that have a CPU in one of the outer groups. */
  idsWithin(level: CpuLevel, outer: CpuLevel, outerIds: readonly number[]): CpuSet {
    const inside = [...this.#places.values()].filter((place) => outerIds.includes(place[outer]));
    return new CpuSet(inside.map((place) => place[level]));
  }

  cpusIn(level: CpuLevel, ids: readonly number[]): CpuSet {
    const wanted = new Set(ids);
    return new CpuSet([...this.#places].flatMap(([cpu, place]) => (wanted.has(place[level]) ? [cpu] : [])));
  }

  /** The number of CPUs by the id of their group. */
  counts(level: CpuLevel): ReadonlyMap<number, number> {
    const counts = new Map<number, number>();
    for (const place of this.#places.values()) counts.set(place[level], (counts.get(place[level]) ?? 0) + 1);
    return counts;
  }
}

/** The CPUs of a machine. kubelet's `CPUTopology`. */
export class CpuTopology {
  readonly details: CpuDetails;
  readonly allCpus: CpuSet;
  readonly numaNodes: CpuSet;
  /** All sets of NUMA nodes but the empty one: by size, then in order. */
  readonly numaSubsets: readonly (readonly number[])[];
  readonly socketCount: number;
  /** Rounded down if groups differ in size, as kubelet does. */
  readonly cpusPerCore: number;
  readonly cpusPerSocket: number;
  readonly cpusPerUncoreCache: number;

  constructor(places: ReadonlyMap<number, CpuPlace>) {
    this.details = new CpuDetails(places);
    this.allCpus = this.details.cpus;
    this.numaNodes = this.details.ids('numaNodeId');
    this.numaSubsets = this.numaNodes.list.flatMap((_, index) => [...subsetsOf(this.numaNodes.list, index + 1)]);
    this.socketCount = this.details.ids('socketId').size;
    this.cpusPerCore = this.#average('coreId');
    this.cpusPerSocket = this.#average('socketId');
    this.cpusPerUncoreCache = this.#average('uncoreCacheId');
  }

  #average(level: CpuLevel): number {
    return Math.floor(this.details.size / this.details.ids(level).size);
  }
}

function* subsetsOf(nodes: readonly number[], size: number): Generator<readonly number[]> {
  if (size === 0) yield [];
  else {
    for (const [index, node] of nodes.entries()) {
      for (const rest of subsetsOf(nodes.slice(index + 1), size - 1)) yield [node, ...rest];
    }
  }
}
