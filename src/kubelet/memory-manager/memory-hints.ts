import type { HintsByResource, TopologyHint } from '../topology/hint-provider.ts';
import { isNarrower, type NumaMask, numaCount, numaMask, numaNodesOf } from '../topology/numa-mask.ts';
import { numaSubsets } from '../topology/numa-subsets.ts';
import type { MemoryRequests } from './memory-requests.ts';
import type { AssignedMemory, MachineMemory } from './memory-state.ts';

/** The bytes that a pod can use again on these nodes, because its init containers have ended when it does. */
export type ReusableMemory = (nodes: NumaMask, type: string) => number;

export interface MemoryHint extends TopologyHint {
  readonly affinity: NumaMask;
}

const NO_HINTS: HintsByResource = new Map();

/**
 * The groups of nodes that have enough free memory of all kinds. The smallest groups that could have it are preferred. As in
 * kubelet, a request that no nodes can satisfy has no hints at all.
 */
export function possibleHints(
  machine: MachineMemory,
  requests: MemoryRequests,
  reusable: ReusableMemory,
): readonly MemoryHint[] {
  const nodes = [...machine.keys()].sort((one, other) => one - other);
  let smallest = nodes.length;
  const found: NumaMask[] = [];
  for (const mask of numaSubsets(nodes)) {
    const group = numaNodesOf(mask);
    const sumOf = (type: string, of: 'free' | 'allocatable'): number =>
      group.reduce((sum, id) => sum + (machine.get(id)?.memoryMap.get(type)?.[of] ?? 0), 0);
    if ([...requests].some(([type, size]) => sumOf(type, 'allocatable') < size)) continue;
    smallest = Math.min(smallest, group.length);
    if (!isUsableGroup(machine, group)) continue;
    if ([...requests].every(([type, size]) => sumOf(type, 'free') + reusable(mask, type) >= size)) found.push(mask);
  }
  return found.map((affinity) => ({ affinity, preferred: numaCount(affinity) === smallest }));
}

export function hintsForAll(requests: MemoryRequests, hints: readonly MemoryHint[]): HintsByResource {
  return hints.length === 0 ? NO_HINTS : new Map([...requests.keys()].map((type) => [type, hints]));
}

/** The hints of memory that is assigned already. */
export function assignedHints(requests: MemoryRequests, blocks: readonly AssignedMemory[]): HintsByResource {
  if (blocks.length !== requests.size || blocks.some(({ type, size }) => requests.get(type) !== size)) return NO_HINTS;
  return new Map(
    blocks.map(({ type, numaAffinity }) => [type, [{ affinity: numaMask(numaAffinity), preferred: true }]]),
  );
}

/** Preferred hints first, then the narrowest. */
export function bestMemoryHint(hints: readonly MemoryHint[]): MemoryHint | undefined {
  return hints.reduce<MemoryHint | undefined>((best, hint) => {
    if (!best) return hint;
    if (hint.preferred !== best.preferred) return hint.preferred ? hint : best;
    return isNarrower(hint.affinity, best.affinity) ? hint : best;
  }, undefined);
}

/** Whether these nodes have enough free memory. */
export function hasFreeMemory(machine: MachineMemory, mask: NumaMask, requests: MemoryRequests): boolean {
  const group = numaNodesOf(mask);
  return [...requests].every(
    ([type, size]) => group.reduce((sum, id) => sum + (machine.get(id)?.memoryMap.get(type)?.free ?? 0), 0) >= size,
  );
}

/** A node is used by itself or in one group, never both. */
export function violatesGroups(machine: MachineMemory, mask: NumaMask): boolean {
  const group = numaNodesOf(mask);
  return group.length > 1 && !group.every((id) => isFreeFor(machine, id, group));
}

function isUsableGroup(machine: MachineMemory, group: readonly number[]): boolean {
  const [only] = group;
  if (group.length === 1 && only !== undefined) return (machine.get(only)?.cells.length ?? 0) <= 1;
  return group.every((id) => isFreeFor(machine, id, group));
}

function isFreeFor(machine: MachineMemory, id: number, group: readonly number[]): boolean {
  const node = machine.get(id);
  if (!node || node.numberOfAssignments === 0) return true;
  return node.cells.length > 1 && numaMask(node.cells) === numaMask(group);
}
