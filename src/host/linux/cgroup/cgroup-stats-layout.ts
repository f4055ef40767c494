import type { CgroupDetails, CgroupUsage } from '../../cgroup-stats.ts';

/** What differs between the versions. `undefined`: there is no such cgroup. */
export interface CgroupStatsLayout {
  readonly version: 'v1' | 'v2';
  usage(path: string): CgroupUsage | undefined;
  details(path: string): CgroupDetails | undefined;
}
