import type { LinuxContainerResources } from '../../cri/generated/runtime-v1.ts';
import type { OciResources } from '../oci/oci-spec.ts';
import { LinuxCPU, LinuxMemory, LinuxResources } from './generated/nri-v1alpha1.ts';

/** Converts resources of a specification for plugins. */
export function nriResources(resources: OciResources): LinuxResources {
  const { memory, cpu, pids, hugepageLimits = [], unified = {} } = resources;
  return LinuxResources.create({
    memory: memory && nriMemory(memory),
    cpu: cpu && nriCpu(cpu),
    hugepageLimits: hugepageLimits.map(({ pageSize, limit }) => ({ pageSize, limit: BigInt(limit) })),
    unified,
    devices: resources.devices.map(({ allow, type = '', major, minor, access = '' }) => ({
      allow,
      type,
      major: optional(major),
      minor: optional(minor),
      access,
    })),
    pids: pids && { limit: BigInt(pids.limit) },
  });
}

function nriMemory(memory: NonNullable<OciResources['memory']>): LinuxMemory {
  return LinuxMemory.create({
    limit: optional(memory.limit),
    reservation: optional(memory.reservation),
    swap: optional(memory.swap),
    kernel: optional(memory.kernel),
    kernelTcp: optional(memory.kernelTCP),
    swappiness: optional(memory.swappiness),
    disableOomKiller: memory.disableOOMKiller === undefined ? undefined : { value: memory.disableOOMKiller },
    useHierarchy: memory.useHierarchy === undefined ? undefined : { value: memory.useHierarchy },
  });
}

function nriCpu(cpu: NonNullable<OciResources['cpu']>): LinuxCPU {
  return LinuxCPU.create({
    shares: optional(cpu.shares),
    quota: optional(cpu.quota),
    period: optional(cpu.period),
    realtimeRuntime: optional(cpu.realtimeRuntime),
    realtimePeriod: optional(cpu.realtimePeriod),
    cpus: cpu.cpus ?? '',
    mems: cpu.mems ?? '',
  });
}

function optional(value: number | undefined): { value: bigint } | undefined {
  return value === undefined ? undefined : { value: BigInt(value) };
}

/** Converts CRI's resources of a pod for plugins. */
export function nriPodResources(resources: LinuxContainerResources | undefined): LinuxResources | undefined {
  if (resources === undefined) return undefined;
  const { cpuShares, cpuQuota, cpuPeriod, cpusetCpus, cpusetMems, memoryLimitInBytes } = resources;
  return LinuxResources.create({
    cpu: {
      shares: { value: cpuShares },
      quota: { value: cpuQuota },
      period: { value: cpuPeriod },
      cpus: cpusetCpus,
      mems: cpusetMems,
    },
    memory: { limit: { value: memoryLimitInBytes } },
    hugepageLimits: resources.hugepageLimits,
    unified: resources.unified,
  });
}
