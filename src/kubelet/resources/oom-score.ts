import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { containerRequests } from '../../api/pod-resources.ts';
import { qosClass } from '../../api/qos.ts';
import { parseQuantity } from '../../base/quantity.ts';
import { isNodeCriticalPod } from './critical-pod.ts';

const GUARANTEED = -997;
const BEST_EFFORT = 1000;
/** A Guaranteed pod that uses all memory scores 10; every other pod must be killed before it. */
const LOWEST_BURSTABLE = 1000 + GUARANTEED;

/**
 * The `oom_score_adj` of a container. A Burstable container that stays within its memory request is safer the larger
 * the request is. A sidecar is never killed before the containers that it serves.
 */
export function oomScoreAdj(pod: Pod, container: Container, memoryCapacityBytes: number): number {
  if (isNodeCriticalPod(pod)) return GUARANTEED;
  const qos = qosClass(pod);
  if (qos === 'Guaranteed') return GUARANTEED;
  if (qos === 'BestEffort') return BEST_EFFORT;

  const share = unassignedShare(pod);
  const capacity = BigInt(memoryCapacityBytes);
  const score = (request: bigint) => Number(1000n - (1000n * (request + share)) / capacity);
  const own = score(memoryRequest(container));
  const leastServed = isSidecar(pod, container) ? score(smallestRequest(pod)) : own;
  const adjust = Math.min(own, leastServed);
  if (adjust < LOWEST_BURSTABLE) return LOWEST_BURSTABLE;
  return adjust === BEST_EFFORT ? BEST_EFFORT - 1 : adjust;
}

/** The pod-level memory request beyond that of its containers, split evenly among them. */
function unassignedShare(pod: Pod): bigint {
  const ofPod = pod.spec.resources?.requests?.['memory'];
  if (ofPod === undefined || parseQuantity(ofPod).isZero()) return 0n;
  const containers = pod.spec.containers.length + (pod.spec.initContainers?.length ?? 0);
  const assigned = containerRequests(pod.spec).get('memory')?.value() ?? 0n;
  return (parseQuantity(ofPod).value() - assigned) / BigInt(containers);
}

function smallestRequest({ spec }: Pod): bigint {
  const [smallest = 0n] = spec.containers.map(memoryRequest).sort((a, b) => Number(a - b));
  return smallest;
}

function isSidecar({ spec }: Pod, { name, restartPolicy }: Container): boolean {
  return restartPolicy === 'Always' && (spec.initContainers ?? []).some((init) => init.name === name);
}

function memoryRequest({ resources }: Container): bigint {
  const request = resources?.requests?.['memory'];
  return request === undefined ? 0n : parseQuantity(request).value();
}
