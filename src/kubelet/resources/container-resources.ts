import type { Quantity as ApiQuantity, Container, Pod } from '../../api/generated/core-v1.ts';
import { isPodLevelResource, podLimits, podRequests, type ResourceList } from '../../api/pod-resources.ts';
import { parseQuantity } from '../../base/quantity.ts';
import { LinuxContainerResources } from '../../cri/generated/runtime-v1.ts';
import type { ContainerRunOptions } from '../pod/container-run-options.ts';
import { cpuQuota, cpuShares, periodMicroseconds } from './cpu-units.ts';
import type { HostFacts } from './host-facts.ts';
import { hugePageSizeOf } from './huge-pages.ts';
import { containerMemoryQos, type MemoryQosSettings } from './memory-qos.ts';
import { oomScoreAdj } from './oom-score.ts';
import { type SwapSettings, swapLimit } from './swap-limit.ts';

export interface ResourceSettings extends SwapSettings, MemoryQosSettings {
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodMs: number;
  /** Cgroup v2 only. Absent: an OOM kill ends all processes of the container. */
  readonly singleProcessOOMKill?: boolean | undefined;
}

/** The CPUs and NUMA nodes of a container, as the CPU and memory managers assigned them. */
export type ContainerPlacement = Pick<ContainerRunOptions, 'cpusetCpus' | 'cpusetMems' | 'hasExclusiveCpus'>;

/** The resources of a container in CRI terms. The CPU time of exclusive CPUs is not limited. */
export function containerResources(
  pod: Pod,
  container: Container,
  settings: ResourceSettings,
  host: HostFacts,
  { cpusetCpus = '', cpusetMems = '', hasExclusiveCpus = false }: ContainerPlacement = {},
): LinuxContainerResources {
  const { requests, limits } = container.resources ?? {};
  const podLevel = hasPodLevelResources(pod) ? pod.spec.resources?.limits : undefined;
  const base = linuxResources(
    {
      cpuRequest: requests?.['cpu'] === undefined ? undefined : milli(requests['cpu']),
      cpuLimit: milli(limits?.['cpu']) || milli(podLevel?.['cpu']),
      memoryLimit: bytes(limits?.['memory']) || bytes(podLevel?.['memory']),
      hasExclusiveCpus,
    },
    settings,
    host,
  );
  const withoutQos = withSwap(base, swapLimit(pod, container, settings, host), host);
  return LinuxContainerResources.fromPartial({
    ...withoutQos,
    cpusetCpus,
    cpusetMems,
    unified: { ...withoutQos.unified, ...containerMemoryQos(pod, container, settings, host) },
    oomScoreAdj: oomScoreAdj(pod, container, settings.memoryCapacityBytes),
    hugepageLimits: hugepageLimits({ ...podLevel, ...limits }, host),
  });
}

/** The resources of the whole pod, without its overhead. */
export function sandboxResources(pod: Pod, settings: ResourceSettings, host: HostFacts): LinuxContainerResources {
  const bare = { ...pod, spec: { ...pod.spec, overhead: undefined } };
  const requests = podRequests(bare);
  const limits = podLimits(bare);
  const amounts = {
    cpuRequest: requests.get('cpu')?.milliValue(),
    cpuLimit: limits.get('cpu')?.milliValue() ?? 0n,
    memoryLimit: limits.get('memory')?.value() ?? 0n,
  };
  return LinuxContainerResources.fromPartial(linuxResources(amounts, settings, host));
}

/** The pod's overhead, which counts as both request and limit. */
export function overheadResources({ spec }: Pod, settings: ResourceSettings, host: HostFacts): LinuxContainerResources {
  const { overhead } = spec;
  if (!overhead) return LinuxContainerResources.fromPartial({});
  const cpu = milli(overhead['cpu']);
  const amounts = { cpuRequest: cpu, cpuLimit: cpu, memoryLimit: bytes(overhead['memory']) };
  return LinuxContainerResources.fromPartial(linuxResources(amounts, settings, host));
}

interface Amounts {
  /** Thousandths of a CPU. Absent: the limit. */
  readonly cpuRequest: bigint | undefined;
  readonly cpuLimit: bigint;
  readonly memoryLimit: bigint;
  /** CPU time is not limited. */
  readonly hasExclusiveCpus?: boolean;
}

interface BaseResources {
  readonly cpuShares: bigint;
  readonly cpuQuota: bigint;
  readonly cpuPeriod: bigint;
  readonly memoryLimitInBytes: bigint;
  readonly unified: Record<string, string>;
}

function linuxResources(amounts: Amounts, settings: ResourceSettings, { cgroupVersion }: HostFacts): BaseResources {
  const { cpuRequest, cpuLimit, memoryLimit, hasExclusiveCpus = false } = amounts;
  const period = periodMicroseconds(settings.cpuCfsQuotaPeriodMs);
  const killsGroup = cgroupVersion === 'v2' && !settings.singleProcessOOMKill;
  return {
    cpuShares: cpuShares(cpuRequest ?? cpuLimit),
    cpuQuota: !settings.cpuCfsQuota ? 0n : hasExclusiveCpus ? -1n : cpuQuota(cpuLimit, period),
    cpuPeriod: settings.cpuCfsQuota ? period : 0n,
    memoryLimitInBytes: memoryLimit,
    unified: killsGroup ? { 'memory.oom.group': '1' } : {},
  };
}

/** v1 limits memory and swap together, v2 limits swap alone. */
function withSwap(resources: BaseResources, swapBytes: number, host: HostFacts) {
  if (!host.swapControllerAvailable) return resources;
  if (host.cgroupVersion === 'v1') return { ...resources, memorySwapLimitInBytes: resources.memoryLimitInBytes };
  return { ...resources, unified: { ...resources.unified, 'memory.swap.max': String(swapBytes) } };
}

/** One entry for each page size of the machine. Sizes without a limit get 0. */
function hugepageLimits(limits: ResourceList, { hugePageSizes }: HostFacts) {
  const asked = new Map<string, bigint>();
  for (const [name, limit] of Object.entries(limits)) {
    const size = hugePageSizeOf(name);
    if (size !== undefined) asked.set(size, bytes(limit));
  }
  return hugePageSizes.map((pageSize) => ({ pageSize, limit: asked.get(pageSize) ?? 0n }));
}

function hasPodLevelResources({ spec }: Pod): boolean {
  const names = [...Object.keys(spec.resources?.requests ?? {}), ...Object.keys(spec.resources?.limits ?? {})];
  return names.some(isPodLevelResource);
}

function milli(quantity: ApiQuantity | undefined): bigint {
  return quantity === undefined ? 0n : parseQuantity(quantity).milliValue();
}

function bytes(quantity: ApiQuantity | undefined): bigint {
  return quantity === undefined ? 0n : parseQuantity(quantity).value();
}
