import { Quantity } from '../base/quantity.ts';
import type { Pod, ResourceRequirements } from './generated/core-v1.ts';
import { amountsOf, type ResourceAmounts, type ResourceList } from './pod-resources.ts';

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

/**
 * Guaranteed: cpu and memory are limited everywhere, and requests equal limits. BestEffort: nothing is asked for.
 * Resources of the pod as a whole, where it has any, are looked at instead of its containers'.
 */
export function qosClass({ spec }: Pod): QosClass {
  const parts: readonly (ResourceRequirements | undefined)[] = spec.resources
    ? [spec.resources]
    : [...spec.containers, ...(spec.initContainers ?? [])].map(({ resources }) => resources);
  const requests = sum(parts.map((part) => part?.requests));
  const limits = sum(parts.map((part) => part?.limits));
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  const isGuaranteed =
    parts.every(limitsBoth) &&
    requests.size === limits.size &&
    [...requests].every(([name, amount]) => limits.get(name)?.compare(amount) === 0);
  return isGuaranteed ? 'Guaranteed' : 'Burstable';
}

function limitsBoth(part: ResourceRequirements | undefined): boolean {
  return cpuAndMemory(part?.limits).size === 2;
}

function sum(lists: readonly (ResourceList | undefined)[]): ResourceAmounts {
  const total = new Map<string, Quantity>();
  for (const list of lists) {
    for (const [name, amount] of cpuAndMemory(list)) total.set(name, total.get(name)?.add(amount) ?? amount);
  }
  return total;
}

/** Only what is more than nothing counts. */
function cpuAndMemory(list: ResourceList | undefined): ResourceAmounts {
  const zero = new Quantity(0n, 'DecimalSI');
  const counts = (name: string): boolean => name === 'cpu' || name === 'memory';
  return new Map([...amountsOf(list)].filter(([name, amount]) => counts(name) && amount.compare(zero) > 0));
}
