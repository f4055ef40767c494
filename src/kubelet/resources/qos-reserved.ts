import type { QosClass } from '../../api/qos.ts';
import type { QosMemoryRequests } from './memory-qos.ts';

/** kubelet's `qosReserved`: memory that lower QoS classes cannot use because higher ones have requested it. */
export interface QosReserved {
  /** The share of the requests that is reserved. */
  readonly memoryPercent: number;
  /** The node's memory without `systemReserved` and `kubeReserved`. */
  readonly allocatableBytes: number;
}

export interface QosReservedSettings {
  /** Absent: nothing is reserved. */
  readonly qosReserved?: QosReserved | undefined;
}

/** The memory limits of the QoS classes. A class for which nothing is left has no new limit: the kernel accepts none of 0. */
export function qosMemoryLimits(
  { guaranteed, burstable }: QosMemoryRequests,
  { memoryPercent, allocatableBytes }: QosReserved,
): ReadonlyMap<QosClass, number> {
  const share = (requests: bigint): number => Number((requests * BigInt(memoryPercent)) / 100n);
  const burstableLimit = allocatableBytes - share(guaranteed);
  const limits: readonly (readonly [QosClass, number])[] = [
    ['Burstable', burstableLimit],
    ['BestEffort', burstableLimit - share(burstable)],
  ];
  return new Map(allocatableBytes > 0 ? limits.filter(([, bytes]) => bytes > 0) : []);
}
