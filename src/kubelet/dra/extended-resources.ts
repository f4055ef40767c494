import type { Container, Pod, ResourceRequirements } from '../../api/generated/core-v1.ts';

const DEVICE_CLASS_PREFIX = 'deviceclass.resource.kubernetes.io/';

/** Whether a resource can be one that a DRA driver provides: an extended resource, or one named after a device class. */
export function isDraExtendedResourceName(name: string): boolean {
  return name.startsWith(DEVICE_CLASS_PREFIX) || isExtendedResourceName(name);
}

/** Qualified names outside of `kubernetes.io`. */
function isExtendedResourceName(name: string): boolean {
  return name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.');
}

/** Whether the scheduler has allocated the resource of the container by a claim. */
export function isBackedByDra({ status }: Pod, container: string, resource: string): boolean {
  const mappings = status?.extendedResourceClaimStatus?.requestMappings ?? [];
  return (
    isDraExtendedResourceName(resource) &&
    mappings.some((each) => each.containerName === container && each.resourceName === resource)
  );
}

/** The pod without the resources that claims provide: neither capacity of the node nor device plugins have them. */
export function withoutDraResources(pod: Pod): Pod {
  if (!pod.status?.extendedResourceClaimStatus) return pod;
  const strip = (list: ResourceRequirements['requests'], container: string): typeof list =>
    list && Object.fromEntries(Object.entries(list).filter(([name]) => !isBackedByDra(pod, container, name)));
  const stripped = <T extends Container>(container: T): T => {
    const { name, resources } = container;
    if (!resources) return container;
    const { requests, limits } = resources;
    return { ...container, resources: { ...resources, requests: strip(requests, name), limits: strip(limits, name) } };
  };
  const { containers, initContainers } = pod.spec;
  return {
    ...pod,
    spec: {
      ...pod.spec,
      containers: containers.map(stripped),
      ...(initContainers && { initContainers: initContainers.map(stripped) }),
    },
  };
}
