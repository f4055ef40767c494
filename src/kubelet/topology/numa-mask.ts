/** A set of NUMA nodes: bit n is set if node n is in it. */
export type NumaMask = bigint;

export function numaMask(nodes: Iterable<number>): NumaMask {
  let mask = 0n;
  for (const node of nodes) mask |= 1n << BigInt(node);
  return mask;
}

/** The nodes of the mask, in ascending order. */
export function numaNodesOf(mask: NumaMask): readonly number[] {
  const nodes: number[] = [];
  for (let rest = mask, node = 0; rest > 0n; rest >>= 1n, node++) if (rest & 1n) nodes.push(node);
  return nodes;
}

export function numaCount(mask: NumaMask): number {
  return numaNodesOf(mask).length;
}

/** As kubelet's `IsNarrowerThan`: fewer nodes; of as many nodes, the lower ones. */
export function isNarrower(one: NumaMask, other: NumaMask): boolean {
  const [ofOne, ofOther] = [numaCount(one), numaCount(other)];
  return ofOne === ofOther ? one < other : ofOne < ofOther;
}
