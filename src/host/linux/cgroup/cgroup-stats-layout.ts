import type { CgroupDetails, CgroupUsage } from '../../cgroup-stats.ts';

/** The reads that differ between cgroup versions. `undefined`: the cgroup does not exist. */
export interface CgroupStatsLayout {
  readonly version: 'v1' | 'v2';
  usage(path: string): CgroupUsage | undefined;
  details(path: string): CgroupDetails | undefined;
}
