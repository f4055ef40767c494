/**
 * Shares of cgroup v1 (2 to 262144) as a weight of v2 (1 to 10000), by the linear formula that the kubelet uses for its
 * own cgroups. (Container runtimes have moved on to another one.)
 */
export function cpuWeightOf(shares: number): number {
  if (shares >= 262_144) return 10_000;
  return 1 + Math.floor((Math.max(shares - 2, 0) * 9999) / 262_142);
}
