import { CpuSet } from '../../base/cpu-set.ts';
import type { CpuDetails, CpuLevel, CpuTopology } from './cpu-details.ts';

/** The order of single CPUs: core after core, or one of each core first. */
export type CpuOrder = 'packed' | 'spread';

/**
 * Takes CPUs out of those that are available until it has as many as are needed. kubelet's `cpuAccumulator`: groups are taken
 * in ascending order of their available CPUs, then of their ids.
 */
export class CpuAccumulator {
  readonly #topology: CpuTopology;
  readonly #order: CpuOrder;
  /** Sockets are in NUMA nodes, or as many. Otherwise NUMA nodes are in sockets. */
  readonly #isNumaFirst: boolean;
  /** What is still available. */
  #details: CpuDetails;
  #needed: number;
  #taken = CpuSet.EMPTY;

  constructor(topology: CpuTopology, available: CpuSet, needed: number, order: CpuOrder) {
    this.#topology = topology;
    this.#order = order;
    this.#isNumaFirst = topology.socketCount >= topology.numaNodes.size;
    this.#details = topology.details.keepOnly(available);
    this.#needed = needed;
  }

  get details(): CpuDetails {
    return this.#details;
  }

  get taken(): CpuSet {
    return this.#taken;
  }

  get needed(): number {
    return this.#needed;
  }

  get isSatisfied(): boolean {
    return this.#needed < 1;
  }

  get isFailed(): boolean {
    return this.#needed > this.#details.size;
  }

  take(cpus: CpuSet): void {
    this.#taken = this.#taken.union(cpus);
    this.#details = this.#details.without(cpus);
    this.#needed -= cpus.size;
  }

  takeFullFirstLevel(): void {
    if (this.#isNumaFirst) this.#takeFullNumaNodes();
    else this.#takeFullSockets();
  }

  takeFullSecondLevel(): void {
    if (this.#isNumaFirst) this.#takeFullSockets();
    else this.#takeFullNumaNodes();
  }

  takeFullCores(): void {
    const { cpusPerCore } = this.#topology;
    this.#takeFull('coreId', this.#sortedCores(), () => cpusPerCore);
  }

  /** Whole caches while at least one is needed, then the rest from one cache that has enough. */
  takeUncoreCaches(): void {
    for (const cache of this.#sortedUncoreCaches()) {
      if (this.#needed >= this.#topology.cpusPerUncoreCache) {
        this.#takeFull('uncoreCacheId', this.#sortedUncoreCaches(), this.#sizesOf('uncoreCacheId'));
      }
      if (this.isSatisfied) return;
      this.#takePartOfUncoreCache(cache);
      if (this.isSatisfied) return;
    }
  }

  takeRemainingCpus(): void {
    const cpus = this.#order === 'packed' ? this.#packedCpus() : this.#spreadCpus();
    for (const cpu of cpus) {
      this.take(new CpuSet([cpu]));
      if (this.isSatisfied) return;
    }
  }

  sortedNumaNodes(): readonly number[] {
    if (this.#isNumaFirst) return this.#sorted('numaNodeId', this.#details.ids('numaNodeId'));
    return this.#sortedWithin('numaNodeId', 'socketId', this.#sortedSockets());
  }

  #takeFullNumaNodes(): void {
    this.#takeFull('numaNodeId', this.sortedNumaNodes(), this.#sizesOf('numaNodeId'));
  }

  #takeFullSockets(): void {
    const { cpusPerSocket } = this.#topology;
    this.#takeFull('socketId', this.#sortedSockets(), () => cpusPerSocket);
  }

  #sizesOf(level: CpuLevel): (id: number) => number {
    const sizes = this.#topology.details.counts(level);
    return (id) => sizes.get(id) ?? 0;
  }

  /**
   * Takes the groups that are as large as expected and not larger than what is needed. Unlike kubelet, never takes a CPU that
   * is not available: on machines with groups of several sizes (performance and efficiency cores), a core of which one
   * thread is left has the expected size.
   */
  #takeFull(level: CpuLevel, ids: readonly number[], expectedSize: (id: number) => number): void {
    const available = this.#details.counts(level);
    for (const id of ids.filter((each) => available.get(each) === expectedSize(each))) {
      const cpus = this.#details.cpusIn(level, [id]);
      if (this.#needed >= cpus.size) this.take(cpus);
    }
  }

  /** An odd rest takes one thread of the last core. */
  #takePartOfUncoreCache(cache: number): void {
    const { cpusPerCore } = this.#topology;
    const coresNeeded = Math.ceil(this.#needed / cpusPerCore);
    const cores = this.#details.idsWithin('coreId', 'uncoreCacheId', [cache]).list.slice(0, coresNeeded);
    const free = this.#details.cpusIn('coreId', cores);
    const hasOneTooMany = this.#needed % 2 !== 0 && cpusPerCore > 1 && free.size > this.#needed;
    const cpus = hasOneTooMany ? new CpuSet(free.list.slice(0, -1)) : free;
    if (cpus.size === this.#needed) this.take(cpus);
  }

  #sortedSockets(): readonly number[] {
    if (!this.#isNumaFirst) return this.#sorted('socketId', this.#details.ids('socketId'));
    return this.#sortedWithin('socketId', 'numaNodeId', this.sortedNumaNodes());
  }

  #sortedUncoreCaches(): readonly number[] {
    return this.#sortedWithin('uncoreCacheId', 'numaNodeId', this.sortedNumaNodes());
  }

  #sortedCores(): readonly number[] {
    return this.#isNumaFirst
      ? this.#sortedWithin('coreId', 'socketId', this.#sortedSockets())
      : this.#sortedWithin('coreId', 'numaNodeId', this.sortedNumaNodes());
  }

  #packedCpus(): readonly number[] {
    return this.#sortedCores().flatMap((core) => this.#details.cpusIn('coreId', [core]).list);
  }

  #spreadCpus(): readonly number[] {
    return this.#sortedSockets().flatMap((socket) => this.#details.cpusIn('socketId', [socket]).list);
  }

  #sortedWithin(level: CpuLevel, outer: CpuLevel, outerIds: readonly number[]): readonly number[] {
    return outerIds.flatMap((id) => this.#sorted(level, this.#details.idsWithin(level, outer, [id])));
  }

  #sorted(level: CpuLevel, ids: CpuSet): readonly number[] {
    const counts = this.#details.counts(level);
    const count = (id: number): number => counts.get(id) ?? 0;
    return ids.list.toSorted((one, other) => count(one) - count(other) || one - other);
  }
}
