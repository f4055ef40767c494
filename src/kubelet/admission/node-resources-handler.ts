import { podRequests, type ResourceAmounts } from '../../api/pod-resources.ts';
import type { PodAdmitHandler, PodRejection } from './pod-admit-handler.ts';

/** Rejects pods that request more than the node has left. Extended resources are not counted. */
export const nodeResourcesHandler: PodAdmitHandler = (pod, { otherPods, maxPods, allocatable }) => {
  const pods = otherPods.length;
  if (pods + 1 > maxPods) return outOf('pods', 1n, BigInt(pods), BigInt(maxPods));
  const requests = podRequests(pod);
  const hugePages = [...requests.keys()].filter((name) => name.startsWith('hugepages-'));
  for (const name of ['cpu', 'memory', 'ephemeral-storage', ...hugePages]) {
    const requested = amount(requests, name);
    if (requested === 0n || !(allocatable.has(name) || hugePages.includes(name))) continue;
    const capacity = amount(allocatable, name);
    const used = otherPods.reduce((sum, other) => sum + amount(podRequests(other), name), 0n);
    if (requested > capacity - used) return outOf(name, requested, used, capacity);
  }
  return undefined;
};

/** CPUs are counted in thousandths. */
function amount(amounts: ResourceAmounts, name: string): bigint {
  const quantity = amounts.get(name);
  if (!quantity) return 0n;
  return name === 'cpu' ? quantity.milliValue() : quantity.value();
}

function outOf(resource: string, requested: bigint, used: bigint, capacity: bigint): PodRejection {
  const numbers = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return { reason: `OutOf${resource}`, message: `Node didn't have enough resource: ${resource}, ${numbers}` };
}
