import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { qosClass } from '../../api/qos.ts';
import { parseQuantity } from '../../base/quantity.ts';
import { isCriticalPod } from './critical-pod.ts';
import type { HostFacts } from './host-facts.ts';

export interface SwapSettings {
  /** Absent: no swap. */
  readonly swapBehavior?: 'NoSwap' | 'LimitedSwap' | undefined;
  readonly memoryCapacityBytes: number;
}

/**
 * Bytes of swap that a container may use (cgroup v2). A Burstable container gets a share of the machine's swap in
 * proportion to its memory request. Containers without a request, Guaranteed and critical pods get none.
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
