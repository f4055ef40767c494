import type { CpuSet } from '../../base/cpu-set.ts';
import { ExpectedError } from '../../base/expected-error.ts';
import { CpuAccumulator, type CpuOrder } from './cpu-accumulator.ts';
import type { CpuTopology } from './cpu-details.ts';
import { type NumaSplit, splitAcrossNumaNodes } from './numa-split.ts';
import type { StaticPolicyOptions } from './policy-options.ts';

/** There are not enough CPUs; the message is kubelet's. */
export class NotEnoughCpusError extends ExpectedError {
  override readonly name = 'NotEnoughCpusError';
}

/** Chooses `count` of the available CPUs, as kubelet's `takeByTopology`. Throws a `NotEnoughCpusError`. */
export function takeCpus(
  topology: CpuTopology,
  available: CpuSet,
  count: number,
  options: StaticPolicyOptions,
): CpuSet {
  const order: CpuOrder = options.distributeCpusAcrossCores ? 'spread' : 'packed';
  if (options.distributeCpusAcrossNuma) {
    const groupSize = options.fullPhysicalCpusOnly ? topology.cpusPerCore : 1;
    return takeDistributed(topology, available, count, { groupSize, order });
  }
  return takePacked(topology, available, count, {
    order,
    prefersUncoreCache: options.preferAlignByUncoreCache,
  });
}

/** Whole NUMA nodes and sockets, then caches if they are preferred, then cores, then single CPUs. */
function takePacked(
  topology: CpuTopology,
  available: CpuSet,
  count: number,
  { order, prefersUncoreCache = false }: { readonly order: CpuOrder; readonly prefersUncoreCache?: boolean },
): CpuSet {
  const accumulator = new CpuAccumulator(topology, available, count, order);
  if (accumulator.isSatisfied) return accumulator.taken;
  if (accumulator.isFailed) throw notEnough(count, available);
  const steps = [
    () => accumulator.takeFullFirstLevel(),
    () => accumulator.takeFullSecondLevel(),
    ...(prefersUncoreCache ? [() => accumulator.takeUncoreCaches()] : []),
    ...(order === 'spread' ? [] : [() => accumulator.takeFullCores()]),
    () => accumulator.takeRemainingCpus(),
  ];
  for (const step of steps) {
    step();
    if (accumulator.isSatisfied) return accumulator.taken;
  }
  throw new NotEnoughCpusError('failed to allocate cpus');
}

/** Evenly from as few NUMA nodes as possible, in groups of `groupSize` CPUs; packed if that is impossible. */
function takeDistributed(
  topology: CpuTopology,
  available: CpuSet,
  count: number,
  { groupSize, order }: { readonly groupSize: number; readonly order: CpuOrder },
): CpuSet {
  if (count % groupSize !== 0) return takePacked(topology, available, count, { order });
  const accumulator = new CpuAccumulator(topology, available, count, order);
  if (accumulator.isSatisfied) return accumulator.taken;
  if (accumulator.isFailed) throw notEnough(count, available);
  const split = splitAcrossNumaNodes({
    numaNodes: accumulator.sortedNumaNodes(),
    available: accumulator.details.counts('numaNodeId'),
    machine: { cpus: topology.details.size, numaNodes: topology.numaNodes.size },
    count,
    groupSize,
  });
  if (split === undefined) return takePacked(topology, available, count, { order });
  takeSplit(accumulator, split, { topology, groupSize, order });
  const { needed } = accumulator;
  if (needed === 0) return accumulator.taken;
  const kind = needed > 0 ? 'not enough' : 'too many';
  throw new NotEnoughCpusError(`accounting error, ${kind} CPUs allocated, remaining: ${needed}`);
}

interface SplitContext {
  readonly topology: CpuTopology;
  readonly groupSize: number;
  readonly order: CpuOrder;
}

function takeSplit(accumulator: CpuAccumulator, split: NumaSplit, context: SplitContext): void {
  const { topology, groupSize, order } = context;
  const take = (numaNode: number, count: number): void => {
    const cpus = accumulator.details.cpusIn('numaNodeId', [numaNode]);
    // kubelet ignores that a node has too few: the accounting afterwards fails.
    if (cpus.size >= count) accumulator.take(takePacked(topology, cpus, count, { order }));
  };
  for (const numaNode of split.numaNodes) take(numaNode, split.fromEach);
  let rest = split.remainder;
  for (let isTaking = true; rest > 0 && isTaking; ) {
    isTaking = false;
    for (const numaNode of split.remainderNodes) {
      if (rest === 0) break;
      if (accumulator.details.cpusIn('numaNodeId', [numaNode]).size < groupSize) continue;
      take(numaNode, groupSize);
      rest -= groupSize;
      isTaking = true;
    }
  }
}

function notEnough(count: number, available: CpuSet): NotEnoughCpusError {
  return new NotEnoughCpusError(
    `not enough cpus available to satisfy request: requested=${count}, available=${available.size}`,
  );
}
