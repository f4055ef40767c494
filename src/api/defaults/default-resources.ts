import { parseQuantity } from '../../base/quantity.ts';
import type { Container, PodSpec, ResourceRequirements } from '../generated/core-v1.ts';
import {
  containerLimits,
  containerRequests,
  isPodLevelResource,
  type ResourceAmounts,
  type ResourceList,
} from '../pod-resources.ts';

/** What is limited and not asked for is asked for up to its limit. */
export function requestsFromLimits(container: Container): Container {
  const { resources } = container;
  if (!resources?.limits) return container;
  return { ...container, resources: { ...resources, requests: { ...resources.limits, ...resources.requests } } };
}

/** Amounts as the API server keeps them: in their canonical form, no finer than a thousandth. */
export function milliResources(list: ResourceList): ResourceList {
  const entries = Object.entries(list).map(([name, text]) => [name, parseQuantity(text).roundUpToMilli().toString()]);
  return Object.fromEntries(entries);
}

/** Both lists of a container in the form the API server keeps them. */
export function milliRequirements<T extends ResourceRequirements>(resources: T): T {
  const { limits, requests } = resources;
  return {
    ...resources,
    ...(limits && { limits: milliResources(limits) }),
    ...(requests && { requests: milliResources(requests) }),
  };
}

/**
 * Resources of the pod as a whole. Huge pages that only the containers limit are limited for the pod too; what the
 * pod limits and does not ask for is asked for as its containers do, or else up to the limit.
 */
export function podLevelResources(given: ResourceRequirements, spec: PodSpec): ResourceRequirements {
  const limits = { ...hugePageLimits(given, spec), ...given.limits };
  const asked = isEmpty(limits) ? {} : { ...podLevel(limits), ...podLevel(textOf(overcommitted(spec))) };
  const requests = { ...asked, ...given.requests };
  return milliRequirements({
    ...given,
    ...(isEmpty(limits) ? {} : { limits }),
    ...(isEmpty(requests) ? {} : { requests }),
  });
}

function hugePageLimits({ limits = {}, requests = {} }: ResourceRequirements, spec: PodSpec): ResourceList {
  if (isEmpty(limits) && isEmpty(requests)) return {};
  const ofContainers = [...containerLimits(spec)];
  return textOf(new Map(ofContainers.filter(([name]) => isHugePages(name) && !Object.hasOwn(requests, name))));
}

/** Huge pages cannot be overcommitted, so their requests equal their limits. */
function overcommitted(spec: PodSpec): ResourceAmounts {
  return new Map([...containerRequests(spec)].filter(([name]) => !isHugePages(name)));
}

function podLevel(list: ResourceList): ResourceList {
  return Object.fromEntries(Object.entries(list).filter(([name]) => isPodLevelResource(name)));
}

function textOf(amounts: ResourceAmounts): ResourceList {
  return Object.fromEntries([...amounts].map(([name, amount]) => [name, amount.toString()]));
}

function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-');
}

function isEmpty(list: ResourceList): boolean {
  return Object.keys(list).length === 0;
}
