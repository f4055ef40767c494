import { parseQuantity, type Quantity } from '../base/quantity.ts';
import type { Pod, PodSpec, Quantity as QuantityText } from './generated/core-v1.ts';

/** Resource name → amount. */
export type ResourceAmounts = ReadonlyMap<string, Quantity>;

/** As it stands in `requests`, `limits`, `overhead` and the like. */
export type ResourceList = Readonly<Record<string, QuantityText>>;

/** What the scheduler and the cgroups count for a pod: its containers or the pod's own word, and the overhead. */
export function podRequests(pod: Pod): ResourceAmounts {
  const requests = new Map(containerRequests(pod.spec));
  for (const [name, amount] of amountsOf(pod.spec.resources?.requests)) {
    if (isPodLevelResource(name)) requests.set(name, amount);
  }
  addTo(requests, amountsOf(pod.spec.overhead));
  return requests;
}

/** Overhead is added only to what has a limit. */
export function podLimits(pod: Pod): ResourceAmounts {
  const limits = new Map(containerLimits(pod.spec));
  for (const [name, amount] of amountsOf(pod.spec.resources?.limits)) {
    if (isPodLevelResource(name)) limits.set(name, amount);
  }
  for (const [name, amount] of amountsOf(pod.spec.overhead)) {
    const limit = limits.get(name);
    if (limit && !limit.isZero()) limits.set(name, limit.add(amount));
  }
  return limits;
}

/** What the containers ask for together, without the pod's own word and the overhead. */
export function containerRequests(spec: PodSpec): ResourceAmounts {
  return together(spec, 'requests');
}

/** What the containers may use together, without the pod's own word and the overhead. */
export function containerLimits(spec: PodSpec): ResourceAmounts {
  return together(spec, 'limits');
}

/** Parses a resource list. Throws a `QuantityError` for what validation has not seen. */
export function amountsOf(list: ResourceList | undefined): ResourceAmounts {
  return new Map(Object.entries(list ?? {}).map(([name, text]) => [name, parseQuantity(text)]));
}

/** What may be set for a pod as a whole. */
export function isPodLevelResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');
}

/**
 * Containers and sidecars run at the same time, so they add up. An init container runs alone with the sidecars that
 * stand before it; where one of these moments needs more than the rest of the pod's life, it decides.
 */
function together(spec: PodSpec, which: 'requests' | 'limits'): ResourceAmounts {
  const total = new Map<string, Quantity>();
  const sidecars = new Map<string, Quantity>();
  const peak = new Map<string, Quantity>();
  for (const { resources } of spec.containers) addTo(total, amountsOf(resources?.[which]));
  for (const { resources, restartPolicy } of spec.initContainers ?? []) {
    const own = amountsOf(resources?.[which]);
    const moment = new Map(own);
    addTo(moment, sidecars);
    raiseTo(peak, moment);
    if (restartPolicy === 'Always') {
      addTo(total, own);
      addTo(sidecars, own);
    }
  }
  raiseTo(total, peak);
  return total;
}

function addTo(total: Map<string, Quantity>, amounts: ResourceAmounts): void {
  for (const [name, amount] of amounts) total.set(name, total.get(name)?.add(amount) ?? amount);
}

function raiseTo(total: Map<string, Quantity>, amounts: ResourceAmounts): void {
  for (const [name, amount] of amounts) {
    const current = total.get(name);
    if (!current || amount.compare(current) > 0) total.set(name, amount);
  }
}
