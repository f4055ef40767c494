import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { qosClass } from '../../api/qos.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type { HostFacts } from './host-facts.ts';
import { isCriticalPod } from './critical-pod.ts';

export interface SwapSettings {
  /** Absent: nothing may be swapped out. */
  readonly swapBehavior?: 'NoSwap' | 'LimitedSwap' | undefined;
  readonly memoryCapacityBytes: number;
}

/**
 * Bytes that a container may have swapped out (cgroup v2). A Burstable one gets the share of the machine's swap that it
 * asked for of the memory; who asks for nothing, is guaranteed all, or must never be slow, gets none.
 */
export function swapLimit(pod: Pod, container: Container, settings: SwapSettings, host: HostFacts): number {
  const { swapBehavior, memoryCapacityBytes: capacity } = settings;
  if (swapBehavior !== 'LimitedSwap' || host.cgroupVersion !== 'v2') return 0;
  if (isCriticalPod(pod) || qosClass(pod) !== 'Burstable') return 0;
  const request = memory(container.resources?.requests);
  const limit = memory(container.resources?.limits);
  if (request === limit || capacity <= 0 || request > capacity) return 0;
  return Math.trunc((request / capacity) * host.swapBytes);
}

function memory(amounts: Readonly<Record<string, string | number>> | undefined): number {
  const amount = amounts?.['memory'];
  return amount === undefined ? 0 : Number(parseQuantity(amount).value());
}
