import type { OciDeviceRule, OciResources } from '../oci/oci-spec.ts';
import { adjustKeyed } from './adjust-keyed.ts';
import { AdjustmentError } from './adjustment-error.ts';
import type { LinuxCPU, LinuxDeviceCgroup, LinuxMemory, LinuxResources } from './generated/nri-v1alpha1.ts';
import { omitUndefined, optionalNumber, toNumber } from './plain-values.ts';

/** Applies a plugin's change to the resources. Throws `AdjustmentError` for anything unsupported. */
export function applyResources(resources: OciResources, change: LinuxResources): OciResources {
  rejectClasses(change);
  const { memory, cpu, pids, hugepageLimits, unified } = resources;
  const limits = change.hugepageLimits.map(({ pageSize, limit }) => ({
    key: pageSize,
    item: { pageSize, limit: toNumber(limit, 'linux.resources.hugepage_limits') },
  }));
  const isUnifiedChanged = Object.keys(change.unified).length > 0;
  return {
    ...resources,
    devices: [...resources.devices, ...change.devices.map(deviceRule)],
    ...omitUndefined({
      memory: change.memory ? applyMemory(memory, change.memory) : memory,
      cpu: change.cpu ? applyCpu(cpu, change.cpu) : cpu,
      pids: change.pids ? { limit: pidsLimit(change.pids.limit) } : pids,
      hugepageLimits:
        limits.length > 0 ? adjustKeyed(hugepageLimits ?? [], ({ pageSize }) => pageSize, limits) : hugepageLimits,
      unified: isUnifiedChanged ? { ...unified, ...change.unified } : unified,
    }),
  };
}

/** An empty class means none, the default. */
function rejectClasses({ blockioClass, rdtClass }: LinuxResources): void {
  if (blockioClass && blockioClass.value !== '') {
    throw new AdjustmentError('linux.resources.blockio_class', 'block I/O classes are not supported');
  }
  if (rdtClass && rdtClass.value !== '') {
    throw new AdjustmentError('linux.resources.rdt_class', 'RDT classes are not supported');
  }
}

function applyMemory(memory: OciResources['memory'], change: LinuxMemory): NonNullable<OciResources['memory']> {
  const field = (name: string): string => `linux.resources.memory.${name}`;
  const given = optionalNumber(change.limit, field('limit'));
  const limit = given === 0 ? undefined : given; // as in NRI's own library: 0 is not a limit
  const swap = optionalNumber(change.swap, field('swap'));
  // The kernel rejects a limit of memory and swap below that of memory.
  const followingSwap = memory?.swap === undefined ? undefined : limit;
  return {
    ...memory,
    ...omitUndefined({
      limit,
      swap: swap ?? followingSwap,
      reservation: optionalNumber(change.reservation, field('reservation')),
      kernel: optionalNumber(change.kernel, field('kernel')),
      kernelTCP: optionalNumber(change.kernelTcp, field('kernel_tcp')),
      swappiness: optionalNumber(change.swappiness, field('swappiness')),
      disableOOMKiller: change.disableOomKiller?.value,
      useHierarchy: change.useHierarchy?.value,
    }),
  };
}

function applyCpu(cpu: OciResources['cpu'], change: LinuxCPU): NonNullable<OciResources['cpu']> {
  const field = (name: string): string => `linux.resources.cpu.${name}`;
  return {
    ...cpu,
    ...omitUndefined({
      shares: optionalNumber(change.shares, field('shares')),
      quota: optionalNumber(change.quota, field('quota')),
      period: optionalNumber(change.period, field('period')),
      realtimeRuntime: optionalNumber(change.realtimeRuntime, field('realtime_runtime')),
      realtimePeriod: optionalNumber(change.realtimePeriod, field('realtime_period')),
      cpus: change.cpus === '' ? undefined : change.cpus,
      mems: change.mems === '' ? undefined : change.mems,
    }),
  };
}

function pidsLimit(limit: bigint): number {
  return limit > 0n ? toNumber(limit, 'linux.resources.pids.limit') : -1;
}

function deviceRule({ allow, type, major, minor, access }: LinuxDeviceCgroup): OciDeviceRule {
  const field = 'linux.resources.devices';
  if (type !== '' && type !== 'a' && type !== 'c' && type !== 'b') throw new AdjustmentError(field, `type "${type}"`);
  return {
    allow,
    ...omitUndefined({
      type: type === '' ? undefined : type,
      major: optionalNumber(major, field),
      minor: optionalNumber(minor, field),
      access: access === '' ? undefined : access,
    }),
  };
}
