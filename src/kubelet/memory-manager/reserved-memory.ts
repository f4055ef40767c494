import { parseQuantity, Quantity } from '../../base/quantity.ts';
import type { MachineTopology } from '../topology/machine-topology.ts';
import { PlacementConfigError } from '../topology/topology-options.ts';
import { isMemoryType } from './memory-requests.ts';

/** One entry of `reservedMemory`. */
export interface MemoryReservation {
  readonly numaNode: number;
  readonly limits: Readonly<Record<string, string>>;
}

export interface MemoryManagerSettings {
  readonly policy: 'None' | 'Static';
  readonly reserved: readonly MemoryReservation[];
}

/** Bytes by NUMA node and kind of memory. */
export type ReservedBytes = ReadonlyMap<number, ReadonlyMap<string, number>>;

const NANO = 1_000_000_000n;
const ZERO = new Quantity(0n, 'DecimalSI');

/**
 * Checks the reserved memory: its sum has to be what the node keeps from pods (`kubeReserved`, `systemReserved` and the hard
 * eviction thresholds). Throws a `PlacementConfigError` with kubelet's message.
 */
export function reservedBytes(
  reservations: readonly MemoryReservation[],
  kept: ReadonlyMap<string, Quantity>,
  { numaNodes }: Pick<MachineTopology, 'numaNodes'>,
): ReservedBytes {
  requireSums(
    totals(
      reservations,
      numaNodes.map(({ id }) => id),
    ),
    kept,
  );
  const bytes = new Map(numaNodes.map(({ id }) => [id, new Map<string, number>()]));
  for (const { numaNode, limits } of reservations) {
    for (const [type, amount] of Object.entries(limits)) {
      const { nano } = parseQuantity(amount);
      if (nano % NANO !== 0n) throw new PlacementConfigError('could not covert a variable of type Quantity to int64');
      bytes.get(numaNode)?.set(type, Number(nano / NANO));
    }
  }
  const all = [...bytes.values()].reduce((sum, own) => sum + (own.get('memory') ?? 0), 0);
  if (all <= 0) throw new PlacementConfigError('[memorymanager] you should specify the system reserved memory');
  return bytes;
}

function totals(reservations: readonly MemoryReservation[], nodes: readonly number[]): ReadonlyMap<string, Quantity> {
  const total = new Map<string, Quantity>();
  for (const { numaNode, limits } of reservations) {
    if (!nodes.includes(numaNode)) {
      const what = `references a NUMA node ${numaNode} that does not exist on this machine`;
      throw new PlacementConfigError(`the reserved memory configuration ${what}`);
    }
    for (const [type, amount] of Object.entries(limits)) {
      total.set(type, parseQuantity(amount).add(total.get(type) ?? ZERO));
    }
  }
  return total;
}

function requireSums(reserved: ReadonlyMap<string, Quantity>, kept: ReadonlyMap<string, Quantity>): void {
  const keptTypes = [...kept].filter(([type, amount]) => isMemoryType(type) && !amount.isZero()).map(([type]) => type);
  for (const type of new Set([...reserved.keys(), ...keptTypes])) {
    const [is, should] = [reserved, kept].map((each) => ZERO.add(each.get(type) ?? ZERO));
    if (!is || !should || is.compare(should) === 0) continue;
    const determined = `the value "${should}" determined by Node Allocatable feature`;
    throw new PlacementConfigError(`the total amount "${is}" of type "${type}" is not equal to ${determined}`);
  }
}
