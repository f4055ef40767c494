import type { PodStats, Summary, VolumeStats } from '../../../api/stats-summary.ts';
import type { NodeStatistics } from '../stats-source.ts';

/** Statistics that a test sets. */
export class ScriptedStats implements NodeStatistics {
  cadvisorNow = '';
  summaryNow: Summary = { node: { nodeName: 'box', startTime: '1970-01-01T00:00:00Z' }, pods: [] };
  error: unknown;
  /** Whether each summary was one of CPU and memory only. */
  readonly asked: boolean[] = [];

  async summary({ onlyCpuAndMemory }: { readonly onlyCpuAndMemory: boolean }): Promise<Summary> {
    this.asked.push(onlyCpuAndMemory);
    if (this.error) throw this.error;
    return this.summaryNow;
  }

  async pods(): Promise<readonly PodStats[]> {
    if (this.error) throw this.error;
    return this.summaryNow.pods;
  }

  measuredPods(): Promise<readonly PodStats[]> {
    return this.pods();
  }

  async cadvisorPage(): Promise<string> {
    if (this.error) throw this.error;
    return this.cadvisorNow;
  }

  claims(): readonly VolumeStats[] {
    return this.summaryNow.pods.flatMap(({ volume = [] }) => volume.filter(({ pvcRef }) => pvcRef));
  }
}
