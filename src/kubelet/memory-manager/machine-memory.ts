import { Quantity } from '../../base/quantity.ts';
import type { MachineTopology, NumaNode } from '../topology/machine-topology.ts';
import { type MachineMemory, type MemoryState, type MemoryTable, takeMemory } from './memory-state.ts';
import type { ReservedBytes } from './reserved-memory.ts';

/** The memory of the machine with nothing assigned. Huge pages are not available as other memory. */
export function machineMemory(
  { numaNodes }: Pick<MachineTopology, 'numaNodes'>,
  reserved: ReservedBytes,
): MachineMemory {
  return new Map(
    numaNodes.map((node) => {
      const own = reserved.get(node.id) ?? new Map();
      const pages = [...hugePages(node)];
      const inPages = pages.reduce((sum, [, bytes]) => sum + bytes, 0);
      const memoryMap = new Map([
        ...pages.map(([type, bytes]) => [type, tableOf(bytes, own.get(type) ?? 0)] as const),
        ['memory', tableOf(node.memoryBytes, own.get('memory') ?? 0, inPages)] as const,
      ]);
      return [node.id, { numberOfAssignments: 0, memoryMap, cells: [node.id] }];
    }),
  );
}

/**
 * kubelet's message if the state does not belong to this machine, or to its reserved memory; `undefined` if it does. The free
 * memory of a group is compared as a whole.
 */
export function stateError({ machine, assignments }: MemoryState, unused: MachineMemory): string | undefined {
  if (machine.size === 0) {
    return assignments.size === 0
      ? undefined
      : '[memorymanager] machine state can not be empty when it has memory assignments';
  }
  let expected = unused;
  for (const [uid, containers] of assignments) {
    for (const [name, blocks] of containers) {
      const of = `[memorymanager] (pod: ${uid}, container: ${name}) the memory assignment uses`;
      for (const block of blocks) {
        for (const id of block.numaAffinity) {
          const node = expected.get(id);
          if (!node) return `${of} the NUMA that does not exist`;
          if (!node.memoryMap.has(block.type)) return `${of} memory resource that does not exist`;
        }
        expected = takeMemory(expected, block);
      }
    }
  }
  if (!areEqual(machine, expected)) return '[memorymanager] the expected machine state is different from the real one';
  return undefined;
}

function* hugePages({ hugePages: counts }: NumaNode): Generator<readonly [type: string, bytes: number]> {
  for (const [kibibytes, count] of counts) {
    const size = new Quantity(BigInt(kibibytes) * 1024n * 1_000_000_000n, 'BinarySI');
    yield [`hugepages-${size}`, kibibytes * 1024 * count];
  }
}

/** Nothing is allocatable on a node that reserves more than it has. */
function tableOf(total: number, systemReserved: number, inPages = 0): MemoryTable {
  const allocatable = Math.max(0, total - systemReserved - inPages);
  return { total, systemReserved, allocatable, reserved: 0, free: allocatable };
}

function areEqual(one: MachineMemory, other: MachineMemory): boolean {
  if (one.size !== other.size) return false;
  return [...one].every(([id, node]) => {
    const expected = other.get(id);
    if (!expected || node.numberOfAssignments !== expected.numberOfAssignments) return false;
    if (!isSameGroup(node.cells, expected.cells) || node.memoryMap.size !== expected.memoryMap.size) return false;
    return [...node.memoryMap].every(([type, table]) => {
      const wanted = expected.memoryMap.get(type);
      if (!wanted) return false;
      const isSameSize = (['total', 'systemReserved', 'allocatable'] as const).every((of) => table[of] === wanted[of]);
      return (
        isSameSize &&
        (['free', 'reserved'] as const).every(
          (of) => sum(one, node.cells, type, of) === sum(other, node.cells, type, of),
        )
      );
    });
  });
}

function isSameGroup(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((id) => other.includes(id));
}

function sum(machine: MachineMemory, nodes: readonly number[], type: string, of: 'free' | 'reserved'): number {
  return nodes.reduce((total, id) => total + (machine.get(id)?.memoryMap.get(type)?.[of] ?? 0), 0);
}
