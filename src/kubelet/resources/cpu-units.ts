/** The smallest weight that the kernel accepts. */
export const MIN_SHARES = 2n;
const MAX_SHARES = 262_144n;
const SHARES_PER_CPU = 1024n;
const MIN_QUOTA_MICROSECONDS = 1000n;

/**
 * The weight of a CPU request, in the kernel's range. No request gets the smallest weight, not the kernel's default.
 */
export function cpuShares(milliCpu: bigint): bigint {
  const shares = (milliCpu * SHARES_PER_CPU) / 1000n;
  if (shares < MIN_SHARES) return MIN_SHARES;
  return shares > MAX_SHARES ? MAX_SHARES : shares;
}

/** The smallest CPU request that has this weight, in thousandths. */
export function sharesToMilliCpu(shares: bigint): bigint {
  return (shares * 1000n + SHARES_PER_CPU - 1n) / SHARES_PER_CPU;
}

/** Microseconds of CPU time per period; 0 for no limit. */
export function cpuQuota(milliCpu: bigint, periodMicroseconds: bigint): bigint {
  if (milliCpu === 0n) return 0n;
  const quota = (milliCpu * periodMicroseconds) / 1000n;
  return quota < MIN_QUOTA_MICROSECONDS ? MIN_QUOTA_MICROSECONDS : quota;
}

/** The kernel takes periods in microseconds. */
export function periodMicroseconds(cpuCfsQuotaPeriodMs: number): bigint {
  return BigInt(Math.round(cpuCfsQuotaPeriodMs * 1000));
}
