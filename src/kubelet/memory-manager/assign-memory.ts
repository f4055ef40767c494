import type { Container, Pod } from '../../api/generated/core-v1.ts';
import type { TopologyHint } from '../topology/hint-provider.ts';
import { type NumaMask, numaMask, numaNodesOf } from '../topology/numa-mask.ts';
import { bestMemoryHint, hasFreeMemory, type MemoryHint, possibleHints, violatesGroups } from './memory-hints.ts';
import { containerMemory, getsMemory, type MemoryRequests } from './memory-requests.ts';
import {
  type AssignedMemory,
  blocksOf,
  type MachineMemory,
  type MemoryState,
  takeMemory,
  withBlocks,
} from './memory-state.ts';
import { isEndingInit, type Reuse, reusableOf, reuseAfter } from './reusable-memory.ts';

/** The state after an assignment, and what other containers of the pod may use again. */
export interface Assigned {
  readonly state: MemoryState;
  readonly reuse: Reuse;
}

/**
 * An init container without memory, in a pod whose containers have some: it has ended, and its memory was given back. After
 * a restart kubelet assigns it memory again, and may reject a running pod for it.
 */
export function hasEnded(state: MemoryState, pod: Pod, container: string): boolean {
  const { uid } = pod.metadata;
  if (!isEndingInit(pod, container) || blocksOf(state, uid, container)) return false;
  return pod.spec.containers.some(({ name }) => blocksOf(state, uid, name));
}

/** Assigns memory to a container. Containers that have theirs keep it. Throws kubelet's error if there is not enough. */
export function assignMemory(before: Assigned, pod: Pod, container: Container, hint: TopologyHint): Assigned {
  const { state, reuse } = before;
  const { uid } = pod.metadata;
  if (!getsMemory(pod)) return before;
  const known = blocksOf(state, uid, container.name);
  if (known) return { state, reuse: reuseAfter(reuse, pod, container, known) };
  if (hasEnded(state, pod, container.name)) return before;
  const requests = containerMemory(container);
  const mask = chosenNodes(state.machine, requests, hint, reusableOf(reuse, uid));
  const numaAffinity = numaNodesOf(mask);
  const blocks = [...requests].map(([type, size]) => ({ numaAffinity, type, size }));
  const machine = blocks.reduce((taken, block) => {
    const reused = Math.min(block.size, reusableOf(reuse, uid)(mask, block.type));
    return takeMemory(taken, { ...block, size: block.size - reused });
  }, state.machine);
  const assigned = withBlocks({ ...state, machine }, uid, container.name, blocks);
  return {
    state: withReusedInits(assigned, pod, container, blocks),
    reuse: reuseAfter(reuse, pod, container, blocks),
  };
}

/** The nodes of the hint, or more if they are not enough; without any, the best ones. */
function chosenNodes(
  machine: MachineMemory,
  requests: MemoryRequests,
  hint: TopologyHint,
  reusable: (nodes: NumaMask, type: string) => number,
): NumaMask {
  let chosen: TopologyHint = hint;
  if (chosen.affinity === undefined) {
    const best = bestMemoryHint(possibleHints(machine, requests, reusable));
    chosen = preferredAs(
      hint,
      best,
      '[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available',
      'default',
    );
  }
  const { affinity = 0n } = chosen;
  if (!hasFreeMemory(machine, affinity, requests)) {
    const wider = possibleHints(machine, requests, reusable).filter((each) => (each.affinity & affinity) === affinity);
    const message = '[memorymanager] failed to find NUMA nodes to extend the current topology hint';
    chosen = preferredAs(chosen, bestMemoryHint(wider), message, 'extended');
  }
  const mask = chosen.affinity ?? 0n;
  if (violatesGroups(machine, mask)) throw new Error('[memorymanager] preferred hint violates NUMA node allocation');
  return mask;
}

function preferredAs(
  hint: TopologyHint,
  found: MemoryHint | undefined,
  missing: string,
  kind: 'default' | 'extended',
): MemoryHint {
  if (!found) throw new Error(missing);
  if (hint.preferred && !found.preferred) throw new Error(`[memorymanager] failed to find the ${kind} preferred hint`);
  return found;
}

/** Init containers of the pod no longer have what the container uses again, so that their sum is what the pod has. */
function withReusedInits(
  assigned: MemoryState,
  pod: Pod,
  container: Container,
  blocks: readonly AssignedMemory[],
): MemoryState {
  const { uid } = pod.metadata;
  const inits = (pod.spec.initContainers ?? []).map(({ name }) => name);
  const until = inits.indexOf(container.name);
  const earlier = (until < 0 ? inits : inits.slice(0, until)).filter((name) => isEndingInit(pod, name));
  let state = assigned;
  for (const block of blocks) {
    let rest = block.size;
    for (const name of earlier) {
      const own = blocksOf(state, uid, name) ?? [];
      const reduced = own.map((each) => {
        if (each.type !== block.type || numaMask(each.numaAffinity) !== numaMask(block.numaAffinity)) return each;
        const reused = Math.min(rest, each.size);
        rest -= reused;
        return reused === 0 ? each : { ...each, size: each.size - reused };
      });
      if (reduced.some((each, index) => each !== own[index])) state = withBlocks(state, uid, name, reduced);
    }
  }
  return state;
}
