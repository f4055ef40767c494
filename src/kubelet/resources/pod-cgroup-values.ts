import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { podLimits, podRequests } from '../../api/pod-resources.ts';
import { qosClass } from '../../api/qos.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type { CgroupController, CgroupValues } from '../../host/cgroups.ts';
import { cpuQuota, cpuShares, periodMicroseconds } from './cpu-units.ts';
import type { HostFacts } from './host-facts.ts';
import { hugePageAmounts } from './huge-pages.ts';
import { type MemoryQosSettings, podMemoryQos } from './memory-qos.ts';

export interface PodCgroupSettings extends MemoryQosSettings {
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodMs: number;
  /** Zero or negative: no limit. */
  readonly podPidsLimit: number;
}

/** The facts of the machine that the values depend on. */
export type PodCgroupHost = Pick<HostFacts, 'hugePageSizes' | 'cgroupVersion'>;

/** The limits of a whole pod. If one container has no limit, the pod has none either. */
export function podCgroupValues(
  pod: Pod,
  settings: PodCgroupSettings,
  host: PodCgroupHost = { hugePageSizes: [], cgroupVersion: 'v1' },
): CgroupValues {
  const always = { ...pidsLimit(settings), ...hugePages(pod, host), ...podMemoryQos(pod, settings, host) };
  const qos = qosClass(pod);
  if (qos === 'BestEffort') return { cpuShares: Number(cpuShares(0n)), ...always };
  const limits = podLimits(pod);
  const isGuaranteed = qos === 'Guaranteed';
  const cpuLimit = limits.get('cpu')?.milliValue() ?? 0n;
  const memoryLimit = limits.get('memory')?.value() ?? 0n;
  return {
    cpuShares: Number(cpuShares(podCpuRequest(pod))),
    ...(isGuaranteed || everyContainerLimits(pod, 'cpu') ? cpuTime(cpuLimit, settings) : {}),
    ...(isGuaranteed || everyContainerLimits(pod, 'memory') ? { memoryLimitBytes: Number(memoryLimit) } : {}),
    ...always,
  };
}

/**
 * The larger value of each limit. If one side has no limit, the limit is omitted and the kernel keeps its current one.
 */
export function maxCgroupValues(before: CgroupValues, after: CgroupValues): CgroupValues {
  const { cpuShares: weight = 0, cpuQuotaMicroseconds: quota, memoryLimitBytes: memory, ...rest } = after;
  const { memoryMinBytes, memoryLowBytes } = rest;
  const larger = (one: number | undefined, other: number | undefined): number | undefined =>
    one === undefined || other === undefined ? undefined : one < 0 || other < 0 ? -1 : Math.max(one, other);
  const cpuQuotaMicroseconds = larger(before.cpuQuotaMicroseconds, quota);
  const memoryLimitBytes = larger(before.memoryLimitBytes, memory);
  return {
    ...rest,
    cpuShares: Math.max(before.cpuShares ?? 0, weight),
    ...(cpuQuotaMicroseconds !== undefined && { cpuQuotaMicroseconds }),
    ...(memoryLimitBytes !== undefined && { memoryLimitBytes }),
    ...(memoryMinBytes !== undefined && { memoryMinBytes: Math.max(before.memoryMinBytes ?? 0, memoryMinBytes) }),
    ...(memoryLowBytes !== undefined && { memoryLowBytes: Math.max(before.memoryLowBytes ?? 0, memoryLowBytes) }),
  };
}

/**
 * The controllers that a pod needs. The runtime sets memory values of every container of cgroup v2 (`memory.oom.group`).
 */
export function podControllers(pod: Pod, { podPidsLimit }: PodCgroupSettings): readonly CgroupController[] {
  const hasHugePages = [...hugePageAmounts(podRequests(pod)).values()].some((bytes) => bytes > 0n);
  return [
    'cpu',
    'memory',
    ...(podPidsLimit > 0 ? ['pids' as const] : []),
    ...(hasHugePages ? ['hugetlb' as const] : []),
  ];
}

function pidsLimit({ podPidsLimit }: PodCgroupSettings): CgroupValues {
  return podPidsLimit > 0 ? { pidsLimit: podPidsLimit } : {};
}

/** Page sizes that are not requested get 0. */
function hugePages(pod: Pod, { hugePageSizes }: PodCgroupHost): CgroupValues {
  if (hugePageSizes.length === 0) return {};
  const asked = hugePageAmounts(podRequests(pod));
  return { hugePageLimits: Object.fromEntries(hugePageSizes.map((size) => [size, Number(asked.get(size) ?? 0n)])) };
}

/** Thousandths of a CPU, including the overhead. */
export function podCpuRequest(pod: Pod): bigint {
  return podRequests(pod).get('cpu')?.milliValue() ?? 0n;
}

function cpuTime(milliCpu: bigint, { cpuCfsQuota, cpuCfsQuotaPeriodMs }: PodCgroupSettings): CgroupValues {
  const period = periodMicroseconds(cpuCfsQuotaPeriodMs);
  return {
    cpuQuotaMicroseconds: cpuCfsQuota ? Number(cpuQuota(milliCpu, period)) : -1,
    cpuPeriodMicroseconds: Number(period),
  };
}

/** An init container without a limit counts unless a sidecar before it has one. */
function everyContainerLimits({ spec }: Pod, resource: 'cpu' | 'memory'): boolean {
  if (isPositive(spec.resources?.limits?.[resource])) return true;
  if (!spec.containers.every((container) => hasLimit(container, resource))) return false;
  let sidecarLimits = false;
  for (const init of spec.initContainers ?? []) {
    const limits = hasLimit(init, resource);
    if (!limits && !sidecarLimits) return false;
    if (init.restartPolicy === 'Always') sidecarLimits ||= limits;
  }
  return true;
}

function hasLimit({ resources }: Container, resource: string): boolean {
  return isPositive(resources?.limits?.[resource]);
}

function isPositive(quantity: string | number | undefined): boolean {
  return quantity !== undefined && !parseQuantity(quantity).isZero();
}
