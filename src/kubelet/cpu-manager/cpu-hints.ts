import type { CpuSet } from '../../base/cpu-set.ts';
import type { TopologyHint } from '../topology/hint-provider.ts';
import { numaMask } from '../topology/numa-mask.ts';
import type { CpuTopology } from './cpu-details.ts';

export interface HintRequest {
  readonly available: CpuSet;
  /** CPUs that must be used; no CPU is in both sets. */
  readonly reusable: CpuSet;
  readonly requested: number;
  readonly alignBySocket: boolean;
}

/**
 * Every set of NUMA nodes from which the request can be satisfied, small sets first. Sets of the smallest size that the
 * machine could satisfy the request with, if all its CPUs were free, are preferred.
 */
export function cpuHints(topology: CpuTopology, request: HintRequest): readonly TopologyHint[] {
  const { requested, reusable } = request;
  const inMachine = topology.details.counts('numaNodeId');
  const free = topology.details.keepOnly(request.available).counts('numaNodeId');
  const needed = topology.details.keepOnly(reusable).ids('numaNodeId').list;
  const candidates: (readonly number[])[] = [];
  let smallest = topology.numaNodes.size;
  for (const nodes of topology.numaSubsets) {
    if (nodes.length < smallest && sumOf(nodes, inMachine) >= requested) smallest = nodes.length;
    if (!needed.every((node) => nodes.includes(node))) continue;
    if (reusable.size + sumOf(nodes, free) >= requested) candidates.push(nodes);
  }
  return candidates.map((nodes) => ({
    affinity: numaMask(nodes),
    preferred: nodes.length === smallest || (request.alignBySocket && isSocketAligned(topology, nodes, smallest)),
  }));
}

/** The nodes are on as few sockets as `nodeCount` nodes need. */
function isSocketAligned(topology: CpuTopology, nodes: readonly number[], nodeCount: number): boolean {
  const nodesPerSocket = Math.floor(topology.numaNodes.size / topology.socketCount);
  if (nodesPerSocket === 0) return false;
  const sockets = topology.details.idsWithin('socketId', 'numaNodeId', nodes);
  return sockets.size === Math.ceil(nodeCount / nodesPerSocket);
}

function sumOf(nodes: readonly number[], counts: ReadonlyMap<number, number>): number {
  return nodes.reduce((sum, node) => sum + (counts.get(node) ?? 0), 0);
}
