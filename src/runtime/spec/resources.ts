import { invalidField } from '../../cri/field-error.ts';
import type { LinuxContainerResources } from '../../cri/generated/runtime-v1.ts';
import type { OciDeviceRule, OciResources } from '../oci/oci-spec.ts';
import type { SpecMachine } from './spec-request.ts';

export type ResourceLimits = Pick<SpecMachine, 'cgroupVersion' | 'hugePages' | 'swapAccounting'>;

export function containerResources(
  requested: LinuxContainerResources | undefined,
  devices: readonly OciDeviceRule[],
  machine: ResourceLimits,
): OciResources {
  return requested === undefined ? { devices } : mergeResources({ devices }, requested, machine, 'linux.resources');
}

/**
 * Applies `UpdateContainerResources` to the current resources: zero and empty mean unchanged. `field` is the path of
 * `update` in the caller's message.
 */
export function mergeResources(
  current: OciResources,
  update: LinuxContainerResources,
  machine: ResourceLimits,
  field = 'linux',
): OciResources {
  const cpu = { ...current.cpu, ...cpuResources(update) };
  const hugepageLimits = machine.hugePages ? hugePageLimits(current, update) : [];
  const unified = { ...current.unified, ...unifiedResources(update, machine, field) };
  const { memory: memoryBefore, ...others } = current;
  const memory = withoutSwapOf(unified, { ...memoryBefore, ...memoryResources(update, machine) });
  return {
    ...others,
    ...unlessEmpty('cpu', cpu),
    ...unlessEmpty('memory', memory),
    ...unlessEmpty('hugepageLimits', hugepageLimits),
    ...unlessEmpty('unified', unified),
  };
}

function cpuResources({ cpuShares, cpuQuota, cpuPeriod, cpusetCpus, cpusetMems }: LinuxContainerResources) {
  return {
    ...unlessZero('shares', cpuShares),
    ...unlessZero('quota', cpuQuota),
    ...unlessZero('period', cpuPeriod),
    ...unlessEmpty('cpus', cpusetCpus),
    ...unlessEmpty('mems', cpusetMems),
  };
}

/** A memory limit alone limits memory and swap together: no swap by default. */
function memoryResources(
  { memoryLimitInBytes, memorySwapLimitInBytes }: LinuxContainerResources,
  { swapAccounting }: ResourceLimits,
) {
  return {
    ...unlessZero('limit', memoryLimitInBytes),
    ...(swapAccounting ? unlessZero('swap', memorySwapLimitInBytes || memoryLimitInBytes) : {}),
  };
}

/** The file of cgroup v2 takes precedence: an OCI runtime may write the two limits in any order. */
function withoutSwapOf(unified: Readonly<Record<string, string>>, memory: NonNullable<OciResources['memory']>) {
  if (unified['memory.swap.max'] === undefined) return memory;
  const { swap: _, ...rest } = memory;
  return rest;
}

function hugePageLimits(current: OciResources, { hugepageLimits }: LinuxContainerResources) {
  const bySize = new Map(current.hugepageLimits?.map((limit) => [limit.pageSize, limit]));
  for (const { pageSize, limit } of hugepageLimits) bySize.set(pageSize, { pageSize, limit: Number(limit) });
  return [...bySize.values()];
}

function unifiedResources(
  { unified }: LinuxContainerResources,
  { cgroupVersion }: ResourceLimits,
  field: string,
): Record<string, string> {
  if (cgroupVersion === 'v1' && Object.keys(unified).length > 0) {
    throw invalidField(`${field}.unified`, 'not supported with cgroup v1');
  }
  return unified;
}

function unlessZero<K extends string>(key: K, value: bigint): { readonly [key in K]?: number } {
  return value === 0n ? {} : keyed(key, Number(value));
}

function unlessEmpty<K extends string, V extends object | string>(key: K, value: V): { readonly [key in K]?: V } {
  return Object.keys(value).length === 0 ? {} : keyed(key, value);
}

function keyed<K extends string, V>(key: K, value: V): { readonly [key in K]?: V } {
  return { [key]: value } as { readonly [key in K]?: V }; // a computed key loses its type
}
