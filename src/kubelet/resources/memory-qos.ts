import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { podRequests } from '../../api/pod-resources.ts';
import { type QosClass, qosClass } from '../../api/qos.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type { CgroupValues } from '../../host/cgroups.ts';
import type { HostFacts } from './host-facts.ts';

/** `TieredReservation`: the memory requests of Guaranteed pods are `memory.min`, those of Burstable pods `memory.low`. */
export type MemoryReservationPolicy = 'None' | 'TieredReservation';

export interface MemoryQosSettings {
  /** Absent: the feature gate MemoryQoS is off. */
  readonly memoryQos?: MemoryQos | undefined;
}

export interface MemoryQos {
  readonly throttlingFactor: number;
  readonly reservationPolicy: MemoryReservationPolicy;
  /** The node's memory without `systemReserved` and `kubeReserved`: the limit of containers that have none. */
  readonly allocatableBytes: number;
}

/** The facts of the machine that MemoryQoS depends on. Cgroup v1 has no such files. */
export type MemoryQosHost = Pick<HostFacts, 'cgroupVersion' | 'pageSize'>;

/** The sums of the memory requests of all pods, in bytes. */
export interface QosMemoryRequests {
  readonly guaranteed: bigint;
  readonly burstable: bigint;
}

/**
 * The files of a container's cgroup. A container is throttled above `memory.high`, a point between its request and its
 * limit. It is not throttled if both are equal.
 */
export function containerMemoryQos(
  pod: Pod,
  { resources }: Container,
  { memoryQos }: MemoryQosSettings,
  { cgroupVersion, pageSize }: MemoryQosHost,
): Readonly<Record<string, string>> {
  if (memoryQos === undefined || cgroupVersion === 'v1') return {};
  const request = memory(resources?.requests);
  const limit = memory(resources?.limits);
  const high = memoryHigh(request, limit, memoryQos, pageSize);
  return {
    ...containerProtection(pod, request, memoryQos),
    ...(high !== undefined && { 'memory.high': String(high) }),
  };
}

/**
 * The files of a container that is resized. A container that is no longer throttled loses its `memory.high`, which kubelet
 * v1.36 leaves as it was.
 */
export function resizedMemoryQos(unified: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return 'memory.min' in unified || 'memory.low' in unified ? { 'memory.high': 'max', ...unified } : unified;
}

/** The values of a pod's cgroup. Its request includes the overhead. */
export function podMemoryQos(
  pod: Pod,
  { memoryQos }: MemoryQosSettings,
  { cgroupVersion }: Pick<MemoryQosHost, 'cgroupVersion'>,
): CgroupValues {
  if (memoryQos === undefined || cgroupVersion === 'v1') return {};
  const request = Number(podMemoryRequest(pod));
  if (request === 0 || memoryQos.reservationPolicy === 'None') return { memoryMinBytes: 0, memoryLowBytes: 0 };
  return qosClass(pod) === 'Guaranteed' ? { memoryMinBytes: request } : { memoryLowBytes: request };
}

/**
 * The values of the cgroups of the QoS classes. The cgroup of Guaranteed pods is the parent of the others, and protects
 * memory only if its own protection covers theirs.
 */
export function qosMemoryQos(
  qos: QosClass,
  { guaranteed, burstable }: QosMemoryRequests,
  { memoryQos }: MemoryQosSettings,
  { cgroupVersion }: Pick<MemoryQosHost, 'cgroupVersion'>,
): CgroupValues {
  if (memoryQos === undefined || cgroupVersion === 'v1' || qos === 'BestEffort') return {};
  const isTiered = memoryQos.reservationPolicy === 'TieredReservation';
  if (qos === 'Guaranteed') return { memoryMinBytes: isTiered ? Number(guaranteed + burstable) : 0 };
  return { memoryLowBytes: isTiered ? Number(burstable) : 0 };
}

/** Bytes, including the overhead. */
export function podMemoryRequest(pod: Pod): bigint {
  return podRequests(pod).get('memory')?.value() ?? 0n;
}

function containerProtection(
  pod: Pod,
  request: number,
  { reservationPolicy }: MemoryQos,
): Readonly<Record<string, string>> {
  if (request === 0 || reservationPolicy === 'None') return { 'memory.min': '0', 'memory.low': '0' };
  return qosClass(pod) === 'Guaranteed' ? { 'memory.min': String(request) } : { 'memory.low': String(request) };
}

/** Whole pages. */
function memoryHigh(
  request: number,
  limit: number,
  { throttlingFactor, allocatableBytes }: MemoryQos,
  pageSize: number,
): number | undefined {
  const most = limit === 0 ? allocatableBytes : limit;
  if (request === limit || most <= 0) return undefined;
  const high = Math.trunc(Math.floor(request + (most - request) * throttlingFactor) / pageSize) * pageSize;
  return high > request ? high : undefined;
}

function memory(amounts: Readonly<Record<string, string | number>> | undefined): number {
  const amount = amounts?.['memory'];
  return amount === undefined ? 0 : Number(parseQuantity(amount).value());
}
