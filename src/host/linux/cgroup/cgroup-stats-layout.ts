import type { CgroupDetails, CgroupUsage } from '../../cgroup-stats.ts';

/** The reads that differ between cgroup versions. `undefined`: the cgroup does not exist. */
export interface CgroupStatsLayout {
  readonly version: 'v1' | 'v2';
  /** The folder of a cgroup in the hierarchy whose cgroups are listed. */
  folder(path: string): string;
  /** A file of every cgroup that changes seldom: its time is that of the creation, if the folder was changed since. */
  readonly birthFile: string;
  usage(path: string): CgroupUsage | undefined;
  details(path: string): CgroupDetails | undefined;
}

/** `Files`: the paths of a cgroup's files; `Stats`: content that both the usage and the details are read from. */
interface CgroupStatsFiles<Files, Stats> extends Pick<CgroupStatsLayout, 'version' | 'folder' | 'birthFile'> {
  files(path: string): Files;
  stats(files: Files): Stats;
  usage(files: Files, stats: Stats): CgroupUsage | undefined;
  details(files: Files, stats: Stats, usage: CgroupUsage): CgroupDetails;
}

export function cgroupStatsLayout<Files, Stats>(of: CgroupStatsFiles<Files, Stats>): CgroupStatsLayout {
  return {
    version: of.version,
    folder: of.folder,
    birthFile: of.birthFile,
    usage: (path) => {
      const files = of.files(path);
      return of.usage(files, of.stats(files));
    },
    details: (path) => {
      const files = of.files(path);
      const stats = of.stats(files);
      const usage = of.usage(files, stats);
      return usage && of.details(files, stats, usage);
    },
  };
}
