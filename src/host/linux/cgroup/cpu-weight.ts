/**
 * Converts cgroup v1 shares (2 to 262144) to a v2 weight (1 to 10000) by the linear formula that kubelet uses for its own
 * cgroups. (Container runtimes use a newer one.)
 */
export function cpuWeightOf(shares: number): number {
  if (shares >= 262_144) return 10_000;
  return 1 + Math.floor((Math.max(shares - 2, 0) * 9999) / 262_142);
}
