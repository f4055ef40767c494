import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { type NumaMask, numaMask } from '../topology/numa-mask.ts';
import type { ReusableMemory } from './memory-hints.ts';
import type { AssignedMemory } from './memory-state.ts';

/**
 * The memory of init containers that the containers after them use again, of the pod that was assigned memory last. It is
 * not in the checkpoint: the containers of a pod are assigned memory one after the other.
 */
export interface Reuse {
  readonly uid: string;
  /** Bytes by NUMA nodes and kind of memory. */
  readonly bytes: ReadonlyMap<string, number>;
}

export const NO_REUSE: Reuse = { uid: '', bytes: new Map() };

export function reusableOf({ uid, bytes }: Reuse, ofPod: string): ReusableMemory {
  return (nodes, type) => (uid === ofPod ? (bytes.get(key(nodes, type)) ?? 0) : 0);
}

export function reuseAfter(
  { uid, bytes }: Reuse,
  pod: Pod,
  { name }: Container,
  blocks: readonly AssignedMemory[],
): Reuse {
  const next = new Map(uid === pod.metadata.uid ? bytes : []);
  const isInit = isEndingInit(pod, name);
  for (const { numaAffinity, type, size } of blocks) {
    const at = key(numaMask(numaAffinity), type);
    const before = next.get(at) ?? 0;
    if (isInit) next.set(at, Math.max(before, size));
    else if (before > 0) next.set(at, Math.max(0, before - size));
  }
  return { uid: pod.metadata.uid, bytes: next };
}

/** Init containers that run to completion; sidecars do not. */
export function isEndingInit({ spec }: Pod, name: string): boolean {
  return (spec.initContainers ?? []).some((each) => each.name === name && each.restartPolicy !== 'Always');
}

function key(nodes: NumaMask, type: string): string {
  return `${nodes} ${type}`;
}
