import type { Container, Pod, ResourceRequirements } from '../../api/generated/core-v1.ts';
import type { ResourceList } from '../../api/pod-resources.ts';
import { parseQuantity } from '../../base/quantity.ts';

/** The resources of a pod: allocated, or actuated. */
export interface PodResources {
  /** By container name, without ephemeral containers. */
  readonly containers: ReadonlyMap<string, ResourceRequirements>;
  /** Pod-level resources. Absent: only the containers have resources. */
  readonly pod?: ResourceRequirements | undefined;
}

/** The allocation of a pod that is admitted as it is. */
export function allocationOf({ spec }: Pod): PodResources {
  const { resources } = spec;
  return { containers: resourcesByName(spec.initContainers, spec.containers), ...(resources && { pod: resources }) };
}

/** The pod with its allocated resources; the same object if the spec asks for exactly those. */
export function withAllocation(pod: Pod, allocation: PodResources): Pod {
  const { spec } = pod;
  const isSamePod = isSameOrNone(spec.resources, allocation.pod);
  const initContainers = spec.initContainers && withAllocatedResources(spec.initContainers, allocation);
  const containers = withAllocatedResources(spec.containers, allocation);
  if (isSamePod && initContainers === spec.initContainers && containers === spec.containers) return pod;
  const { resources, ...rest } = spec;
  const kept = isSamePod ? resources : allocation.pod;
  return {
    ...pod,
    spec: { ...rest, ...(kept && { resources: kept }), containers, ...(initContainers && { initContainers }) },
  };
}

/** The pod asks for resources that differ from its allocation. */
export function isResized(pod: Pod, allocation: PodResources): boolean {
  return withAllocation(pod, allocation) !== pod;
}

/** The resources that a container is created with: a missing limit is the pod-level limit. */
export function actuationOf({ spec }: Pod, container: Container): ResourceRequirements {
  const { limits, ...rest } = container.resources ?? {};
  const own: Record<string, string | number> = { ...limits };
  for (const name of ['cpu', 'memory']) {
    const ofPod = spec.resources?.limits?.[name];
    if (isZero(own[name]) && ofPod !== undefined && !isZero(ofPod)) own[name] = ofPod;
  }
  return { ...rest, ...(Object.keys(own).length > 0 && { limits: own }) };
}

/** The actuated CPU and memory of a running container; for other resources its allocation. */
export function actualResources(
  { name, resources = {} }: Container,
  actuated: PodResources | undefined,
): ResourceRequirements {
  const has = actuated?.containers.get(name);
  return has ? withActual(resources, has) : resources;
}

/** The pod as if its allocation were what its containers run with. */
export function actualPod(pod: Pod, actuated: PodResources | undefined): Pod {
  if (!actuated) return pod;
  const { initContainers = [], containers, resources } = pod.spec;
  const given = [...initContainers, ...containers].map(
    (container) => [container.name, actualResources(container, actuated)] as const,
  );
  const ofPod = resources && { pod: withActual(resources, actuated.pod ?? {}) };
  return withAllocation(pod, { containers: new Map(given), ...ofPod });
}

function withActual(allocated: ResourceRequirements, has: ResourceRequirements): ResourceRequirements {
  const requests = allocated.requests && listWithActual(allocated.requests, has.requests);
  const limits = allocated.limits && listWithActual(allocated.limits, has.limits);
  return { ...allocated, ...(limits && { limits }), ...(requests && { requests }) };
}

/** kubelet's records of a resize have zero where there is no amount. */
function listWithActual(allocated: ResourceList, has: ResourceList = {}): ResourceList {
  const actual = ['cpu', 'memory'].flatMap((name) => {
    const amount = has[name];
    return isZero(amount) || amount === undefined || isSameAmount(allocated[name], amount)
      ? []
      : [[name, amount] as const];
  });
  return actual.length === 0 ? allocated : { ...allocated, ...Object.fromEntries(actual) };
}

/** Compares amounts, not spellings. Absent and empty lists are the same. */
export function isSameResources(one: ResourceRequirements = {}, other: ResourceRequirements = {}): boolean {
  return (
    isSameList(one.requests, other.requests) &&
    isSameList(one.limits, other.limits) &&
    JSON.stringify(one.claims ?? []) === JSON.stringify(other.claims ?? [])
  );
}

function isSameOrNone(one: ResourceRequirements | undefined, other: ResourceRequirements | undefined): boolean {
  return one === undefined || other === undefined ? one === other : isSameResources(one, other);
}

function isSameList(one: ResourceList = {}, other: ResourceList = {}): boolean {
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) => isSameAmount(one[name], other[name]));
}

function isSameAmount(one: string | number | undefined, other: string | number | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one === other || parseQuantity(one).compare(parseQuantity(other)) === 0;
}

function isZero(quantity: string | number | undefined): boolean {
  return quantity === undefined || parseQuantity(quantity).isZero();
}

function withAllocatedResources(
  containers: readonly Container[],
  { containers: allocated }: PodResources,
): readonly Container[] {
  const updated = containers.map((container) => {
    const resources = allocated.get(container.name);
    return resources && !isSameResources(container.resources, resources) ? { ...container, resources } : container;
  });
  return updated.every((container, index) => container === containers[index]) ? containers : updated;
}

function resourcesByName(...lists: ReadonlyArray<readonly Container[] | undefined>): PodResources['containers'] {
  return new Map(lists.flatMap((list = []) => list.map(({ name, resources }) => [name, resources ?? {}] as const)));
}
