import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { podRequests, type ResourceAmounts, type ResourceList } from '../../api/pod-resources.ts';
import { isExtendedResource, isScalarResource } from '../../api/resource-names.ts';
import { byCodePoint } from '../../base/code-point-order.ts';
import type { InsufficientResource, Predicate } from './pod-admit-handler.ts';

/**
 * Pods that request more than the node has left do not fit. As in kubelet, extended resources that the node does not have are
 * not counted: they belong to the cluster, or a DRA driver provides them.
 */
export const nodeResourcesPredicate: Predicate = (pod, { otherPods, maxPods, allocatable }) => {
  const pods = otherPods.length;
  const tooMany = pods + 1 > maxPods ? [insufficient('pods', 1n, BigInt(pods), BigInt(maxPods))] : [];
  const requests = podRequests(withoutUncounted(pod, allocatable));
  const scalars = [...requests.keys()].filter(isScalarResource).sort(byCodePoint);
  const counted = [
    ...['cpu', 'memory', 'ephemeral-storage'].filter((name) => allocatable.has(name)),
    ...scalars.filter((name) => allocatable.has(name) || !isExtendedResource(name)),
  ].filter((name) => countedAmount(requests, name) > 0n);
  if (counted.length === 0) return tooMany;
  const others = otherPods.map(podRequests);
  const scarce = counted.flatMap((name) => {
    const requested = countedAmount(requests, name);
    const capacity = countedAmount(allocatable, name);
    const used = others.reduce((sum, other) => sum + countedAmount(other, name), 0n);
    return requested > capacity - used ? [insufficient(name, requested, used, capacity)] : [];
  });
  return [...tooMany, ...scarce];
};

/** CPUs are counted in thousandths. */
export function countedAmount(amounts: ResourceAmounts, name: string): bigint {
  const quantity = amounts.get(name);
  if (!quantity) return 0n;
  return name === 'cpu' ? quantity.milliValue() : quantity.value();
}

function insufficient(resource: string, requested: bigint, used: bigint, capacity: bigint): InsufficientResource {
  return { kind: 'insufficientResource', resource, requested, used, capacity };
}

/** The pod without requests for extended resources that the node does not have, or that a resource claim satisfies. */
function withoutUncounted(pod: Pod, allocatable: ResourceAmounts): Pod {
  const { containers, initContainers } = pod.spec;
  const mappings = pod.status?.extendedResourceClaimStatus?.requestMappings ?? [];
  const isUncounted = (resource: string, container: string): boolean =>
    (isExtendedResource(resource) && !allocatable.has(resource)) ||
    mappings.some(({ resourceName, containerName }) => resourceName === resource && containerName === container);
  const counted = (container: Container): Container => {
    const requests = container.resources?.requests;
    if (!requests) return container;
    const left = Object.entries(requests).filter(([resource]) => !isUncounted(resource, container.name));
    return { ...container, resources: { ...container.resources, requests: Object.fromEntries(left) as ResourceList } };
  };
  return {
    ...pod,
    spec: {
      ...pod.spec,
      containers: containers.map(counted),
      ...(initContainers && { initContainers: initContainers.map(counted) }),
    },
  };
}
