import type { PodStats, Summary, VolumeStats } from '../../api/stats-summary.ts';

/** Statistics of the node and its pods, read when asked for. */
export interface StatsSource {
  /** Everything that `/stats/summary` shows. `onlyCpuAndMemory`: without disks, networks and volumes, which cost more. */
  summary(options: { readonly onlyCpuAndMemory: boolean }, signal: AbortSignal): Promise<Summary>;
  /**
   * The pods that run, with memory read just now. Disk usage is as old as its last measurement, which goes on in the
   * background at a bounded pace; it is missing for what was never measured.
   */
  pods(signal: AbortSignal): Promise<readonly PodStats[]>;
  /** The same, with disks measured now: takes as long as that, ten seconds at most. Older figures stay for what took longer. */
  measuredPods(signal: AbortSignal): Promise<readonly PodStats[]>;
}

/** What `/metrics/cadvisor` shows. */
export interface CadvisorSource {
  /** In Prometheus' text format, read when it is asked for. */
  cadvisorPage(signal: AbortSignal): Promise<string>;
}

/** All statistics of a node. */
export type NodeStatistics = StatsSource & ClaimStatsSource & CadvisorSource;

/** The volumes of running pods that belong to claims. */
export interface ClaimStatsSource {
  /** As of their last measurement; without those that were never measured. A claim of several pods occurs several times. */
  claims(): readonly VolumeStats[];
}
