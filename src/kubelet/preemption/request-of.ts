import type { Pod } from '../../api/generated/core-v1.ts';
import { podRequests } from '../../api/pod-resources.ts';

/** The amount that ends with the pod; CPUs are counted in thousandths. Overhead counts only with a request. */
export function requestOf(pod: Pod, resource: string): bigint {
  if (resource === 'pods') return 1n;
  const { overhead: _, ...spec } = pod.spec;
  const ofContainers = podRequests({ ...pod, spec }).get(resource);
  if (!ofContainers || ofContainers.isZero()) return 0n;
  const amount = podRequests(pod).get(resource) ?? ofContainers;
  return resource === 'cpu' ? amount.milliValue() : amount.value();
}
