import { type NumaMask, numaMask } from './numa-mask.ts';

/** Every set of these nodes but the empty one: first those of one node, then of two; each size in ascending order of nodes. */
export function numaSubsets(nodes: readonly number[]): readonly NumaMask[] {
  return nodes.flatMap((_, index) => [...subsetsOfSize(nodes, index + 1)].map(numaMask));
}

function* subsetsOfSize(nodes: readonly number[], size: number): Generator<readonly number[]> {
  if (size === 0) return yield [];
  for (const [index, node] of nodes.entries()) {
    for (const rest of subsetsOfSize(nodes.slice(index + 1), size - 1)) yield [node, ...rest];
  }
}
