import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { CpuSet } from '../../base/cpu-set.ts';
import { goQuote } from '../../base/go/go-quote.ts';
import { AllocationError, type TopologyHint } from '../topology/hint-provider.ts';
import { numaNodesOf } from '../topology/numa-mask.ts';
import type { CpuTopology } from './cpu-details.ts';
import { cpuHints } from './cpu-hints.ts';
import { allAssignedCpus, assignedCpus, type CpuState } from './cpu-state.ts';
import { CpuManagerError, checkMachine, type StaticPolicyOptions } from './policy-options.ts';
import { exclusiveCpus, exclusiveCpusOfPod } from './requested-cpus.ts';
import { takeCpus } from './take-cpus.ts';

export interface StaticPolicyConfig {
  readonly options: StaticPolicyOptions;
  /** Empty: `reservedCount` CPUs are chosen. */
  readonly reservedCpus: CpuSet;
  readonly reservedCount: number;
  readonly topologyManagerPolicy: string;
}

/** Decides which CPUs containers get exclusively. Holds no state of its own. kubelet's `staticPolicy`. */
export class StaticPolicy {
  readonly #topology: CpuTopology;
  readonly #options: StaticPolicyOptions;
  /** Never assigned exclusively. */
  readonly reserved: CpuSet;
  /** The reserved CPUs and the other threads of their cores. */
  readonly #reservedCores: CpuSet;

  /** Throws a `CpuManagerError`. */
  constructor(topology: CpuTopology, config: StaticPolicyConfig) {
    const { options, reservedCpus, reservedCount } = config;
    checkMachine(options, topology, config.topologyManagerPolicy);
    this.#topology = topology;
    this.#options = options;
    this.reserved = reservedCpus.isEmpty ? chooseReserved(topology, reservedCount, options) : reservedCpus;
    if (this.reserved.size !== reservedCount) {
      throw new CpuManagerError(
        `[cpumanager] unable to reserve the required amount of CPUs (size of ${this.reserved} did not equal ${reservedCount})`,
      );
    }
    const cores = this.reserved.list.map((cpu) => coreOf(topology, cpu));
    this.#reservedCores = topology.details.cpusIn('coreId', cores);
  }

  /** What exclusive containers could get at all. */
  get allocatable(): CpuSet {
    return this.#topology.allCpus.difference(this.reserved);
  }

  /** The CPUs of the shared pool that could be assigned exclusively. */
  available({ shared }: CpuState): CpuSet {
    return shared.difference(this.reserved);
  }

  get takesWholeCores(): boolean {
    return this.#options.fullPhysicalCpusOnly;
  }

  /** The number of exclusive CPUs of each NUMA node. */
  exclusiveByNumaNode(state: CpuState): ReadonlyMap<number, number> {
    const { details } = this.#topology;
    const exclusive = allAssignedCpus(state);
    const nodes = this.#topology.numaNodes.list;
    return new Map(nodes.map((id) => [id, exclusive.intersection(details.cpusIn('numaNodeId', [id])).size]));
  }

  /** Checks the state of a previous process, or fills an empty one. Throws a `CpuManagerError`. */
  start(state: CpuState): CpuState {
    const { strictCpuReservation } = this.#options;
    const cpus = strictCpuReservation ? this.allocatable : this.#topology.allCpus;
    if (state.shared.isEmpty && state.assignments.size === 0) return { ...state, shared: cpus };
    const assigned = allAssignedCpus(state);
    // Unlike kubelet, which does not start again once all CPUs but the strictly reserved ones are assigned.
    const isFullyAssigned = strictCpuReservation && assigned.equals(cpus);
    if (state.shared.isEmpty && !isFullyAssigned) throw new CpuManagerError('default cpuset cannot be empty');
    this.#checkReserved(state);
    checkOverlap(state);
    const known = state.shared.union(assigned);
    if (!known.equals(cpus)) {
      throw new CpuManagerError(
        `current set of available CPUs ${quoted(cpus)} doesn't match with CPUs in state ${quoted(known)}`,
      );
    }
    return state;
  }

  #checkReserved({ shared }: CpuState): void {
    const both = this.reserved.intersection(shared);
    if (this.#options.strictCpuReservation) {
      if (both.isEmpty) return;
      throw new CpuManagerError(
        `some of strictly reserved cpus: ${quoted(both)} are present in defaultCpuSet: ${quoted(shared)}`,
      );
    }
    if (both.equals(this.reserved)) return;
    throw new CpuManagerError(
      `not all reserved cpus: ${quoted(this.reserved)} are present in defaultCpuSet: ${quoted(shared)}`,
    );
  }

  /** `undefined`: the container has no preference. */
  containerHints(
    state: CpuState,
    pod: Pod,
    container: Container,
    reusable: CpuSet,
  ): readonly TopologyHint[] | undefined {
    const requested = exclusiveCpus(pod, container);
    if (requested === 0) return undefined;
    const allocated = assignedCpus(state, pod.metadata.uid, container.name);
    if (allocated === undefined) return this.#hints(this.available(state), reusable, requested);
    return allocated.size === requested ? this.#hints(allocated, CpuSet.EMPTY, requested) : [];
  }

  /** `undefined`: the pod has no preference. */
  podHints(state: CpuState, pod: Pod, reusable: CpuSet): readonly TopologyHint[] | undefined {
    const requested = exclusiveCpusOfPod(pod);
    if (requested === 0) return undefined;
    let assigned = CpuSet.EMPTY;
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const allocated = assignedCpus(state, pod.metadata.uid, container.name);
      if (allocated === undefined) continue;
      if (allocated.size !== exclusiveCpus(pod, container)) return [];
      assigned = assigned.union(allocated);
    }
    if (assigned.size === requested) return this.#hints(assigned, CpuSet.EMPTY, requested);
    return this.#hints(this.available(state), reusable.union(assigned), requested);
  }

  /** The CPUs for `count` exclusive ones. Throws an `AllocationError` or a `NotEnoughCpusError`. */
  choose(state: CpuState, count: number, { affinity }: TopologyHint, reusable: CpuSet): CpuSet {
    const allocatable = this.available(state).union(reusable);
    const take = (from: CpuSet, size: number): CpuSet => takeCpus(this.#topology, from, size, this.#options);
    const aligned = affinity === undefined ? CpuSet.EMPTY : this.#alignedCpus(numaNodesOf(affinity), allocatable);
    const first = take(aligned, Math.min(count, aligned.size));
    return first.union(take(allocatable.difference(first), count - first.size));
  }

  /** Throws an `AllocationError` if only whole cores are assigned, and the request is not one of whole cores. */
  checkWholeCores({ shared }: CpuState, count: number): void {
    if (!this.#options.fullPhysicalCpusOnly) return;
    const { cpusPerCore } = this.#topology;
    if (count % cpusPerCore !== 0) {
      throw alignmentError(`requested ${count} cpus not multiple cpus per core = ${cpusPerCore}`);
    }
    const available = shared.difference(this.#reservedCores).size;
    if (count > available) {
      throw alignmentError(
        `not enough free physical CPUs: available physical CPUs = ${available}, requested CPUs = ${count}, CPUs per core = ${cpusPerCore}`,
      );
    }
  }

  #alignedCpus(numaNodes: readonly number[], allocatable: CpuSet): CpuSet {
    const { details } = this.#topology;
    if (!this.#options.alignBySocket) return allocatable.intersection(details.cpusIn('numaNodeId', numaNodes));
    const sockets = details.idsWithin('socketId', 'numaNodeId', numaNodes);
    return allocatable.intersection(details.cpusIn('socketId', sockets.list));
  }

  #hints(available: CpuSet, reusable: CpuSet, requested: number): readonly TopologyHint[] {
    const { alignBySocket } = this.#options;
    return cpuHints(this.#topology, { available, reusable, requested, alignBySocket });
  }
}

/** The CPUs of the lowest cores. */
function chooseReserved(topology: CpuTopology, count: number, options: StaticPolicyOptions): CpuSet {
  return count <= topology.allCpus.size ? takeCpus(topology, topology.allCpus, count, options) : CpuSet.EMPTY;
}

function coreOf(topology: CpuTopology, cpu: number): number {
  const place = topology.details.place(cpu);
  if (place) return place.coreId;
  throw new CpuManagerError(
    `[cpumanager] unable to build the reserved physical CPUs from the reserved set: unknown CPU ID: ${cpu}`,
  );
}

function checkOverlap({ shared, assignments }: CpuState): void {
  for (const [uid, ofPod] of assignments) {
    for (const [container, cpus] of ofPod) {
      if (shared.intersection(cpus).isEmpty) continue;
      throw new CpuManagerError(
        `pod: ${uid}, container: ${container} cpuset: ${quoted(cpus)} overlaps with default cpuset ${quoted(shared)}`,
      );
    }
  }
}

function alignmentError(message: string): AllocationError {
  return new AllocationError('SMTAlignmentError', `SMT Alignment Error: ${message}`);
}

function quoted(cpus: CpuSet): string {
  return goQuote(cpus.toString());
}
