import { invalidField } from '../../cri/field-error.ts';
import type { LinuxContainerResources } from '../../cri/generated/runtime-v1.ts';
import type { OciDeviceRule, OciResources } from '../oci/oci-spec.ts';
import type { SpecMachine } from './spec-request.ts';

export type ResourceLimits = Pick<SpecMachine, 'cgroupVersion' | 'hugePages' | 'swapAccounting'>;

export function containerResources(
  asked: LinuxContainerResources | undefined,
  devices: readonly OciDeviceRule[],
  machine: ResourceLimits,
): OciResources {
  return asked === undefined ? { devices } : updatedResources({ devices }, asked, machine, 'linux.resources');
}

/**
 * What `UpdateContainerResources` makes of the resources so far: zero and empty mean "as before". `field`: where `update`
 * stands in the caller's message.
 */
export function updatedResources(
  current: OciResources,
  update: LinuxContainerResources,
  machine: ResourceLimits,
  field = 'linux',
): OciResources {
  const cpu = { ...current.cpu, ...cpuOf(update) };
  const memory = { ...current.memory, ...memoryOf(update, machine) };
  const hugepageLimits = machine.hugePages ? hugePagesOf(current, update) : [];
  const unified = { ...current.unified, ...unifiedOf(update, machine, field) };
  return {
    ...current,
    ...unlessEmpty('cpu', cpu),
    ...unlessEmpty('memory', memory),
    ...unlessEmpty('hugepageLimits', hugepageLimits),
    ...unlessEmpty('unified', unified),
  };
}

function cpuOf({ cpuShares, cpuQuota, cpuPeriod, cpusetCpus, cpusetMems }: LinuxContainerResources) {
  return {
    ...unlessZero('shares', cpuShares),
    ...unlessZero('quota', cpuQuota),
    ...unlessZero('period', cpuPeriod),
    ...unlessEmpty('cpus', cpusetCpus),
    ...unlessEmpty('mems', cpusetMems),
  };
}

/** A limit on memory alone is a limit on memory and swap together: nothing swaps unless somebody says so. */
function memoryOf(
  { memoryLimitInBytes, memorySwapLimitInBytes }: LinuxContainerResources,
  { swapAccounting }: ResourceLimits,
) {
  return {
    ...unlessZero('limit', memoryLimitInBytes),
    ...(swapAccounting ? unlessZero('swap', memorySwapLimitInBytes || memoryLimitInBytes) : {}),
  };
}

function hugePagesOf(current: OciResources, { hugepageLimits }: LinuxContainerResources) {
  const bySize = new Map(current.hugepageLimits?.map((limit) => [limit.pageSize, limit]));
  for (const { pageSize, limit } of hugepageLimits) bySize.set(pageSize, { pageSize, limit: Number(limit) });
  return [...bySize.values()];
}

function unifiedOf(
  { unified }: LinuxContainerResources,
  { cgroupVersion }: ResourceLimits,
  field: string,
): Record<string, string> {
  if (cgroupVersion === 'v1' && Object.keys(unified).length > 0) {
    throw invalidField(`${field}.unified`, 'this node has cgroups v1, where there are no such files');
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
