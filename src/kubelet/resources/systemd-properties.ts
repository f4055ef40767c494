import { type CgroupValues, cpuWeight } from '../../host/cgroups.ts';
import { UNLIMITED, type UnitProperties } from '../../host/systemd.ts';

const DEFAULT_PERIOD = 100_000;
/** systemd keeps a quota as a whole percentage of a CPU. */
const PERCENT = 10_000;

/**
 * Rounds the CPU quota up to what systemd can represent, so that the unit's property and the cgroup's file agree and the
 * children's quotas fit.
 */
export function roundQuota(values: CgroupValues): CgroupValues {
  const { cpuQuotaMicroseconds: quota, cpuPeriodMicroseconds: period = DEFAULT_PERIOD } = values;
  if (quota === undefined || quota <= 0) return values;
  const perSecond = Math.floor((quota * 1_000_000) / period);
  if (perSecond % PERCENT === 0) return values;
  return { ...values, cpuQuotaMicroseconds: Math.floor((roundUp(perSecond) * period) / 1_000_000) };
}

/** The properties of a unit for these values; hugetlb has none. */
export function resourceProperties(values: CgroupValues, version: 'v1' | 'v2'): UnitProperties {
  const { cpuShares, memoryLimitBytes, memoryMinBytes, memoryLowBytes, pidsLimit } = values;
  const isV2 = version === 'v2';
  return {
    ...(cpuShares !== undefined &&
      (isV2 ? { CPUWeight: BigInt(cpuWeight(cpuShares)) } : { CPUShares: BigInt(cpuShares) })),
    ...quotaProperties(values),
    ...(memoryLimitBytes !== undefined &&
      (isV2 ? { MemoryMax: amount(memoryLimitBytes) } : { MemoryLimit: amount(memoryLimitBytes) })),
    ...(isV2 && memoryMinBytes !== undefined && { MemoryMin: amount(memoryMinBytes) }),
    ...(isV2 && memoryLowBytes !== undefined && { MemoryLow: amount(memoryLowBytes) }),
    // systemd rejects a limit of 0.
    ...(pidsLimit !== undefined && { TasksMax: pidsLimit === 0 ? 1n : amount(pidsLimit) }),
  };
}

function quotaProperties({ cpuQuotaMicroseconds: quota, cpuPeriodMicroseconds: period }: CgroupValues): UnitProperties {
  const hasQuota = quota !== undefined && quota > 0;
  if (!hasQuota && quota === undefined && period === undefined) return {};
  const perSecond = hasQuota
    ? BigInt(roundUp(Math.floor((quota * 1_000_000) / (period ?? DEFAULT_PERIOD))))
    : UNLIMITED;
  return { ...(period !== undefined && { CPUQuotaPeriodUSec: BigInt(period) }), CPUQuotaPerSecUSec: perSecond };
}

function roundUp(perSecond: number): number {
  return Math.ceil(perSecond / PERCENT) * PERCENT;
}

/** A negative limit means unlimited. */
function amount(value: number): bigint {
  return value < 0 ? UNLIMITED : BigInt(value);
}
