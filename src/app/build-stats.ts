import type { Pod } from '../api/generated/core-v1.ts';
import type { Part } from '../base/supervise.ts';
import { CadvisorMetrics } from '../kubelet/cadvisor/cadvisor-metrics.ts';
import { CriMetrics } from '../kubelet/cadvisor/cri-metrics.ts';
import type { ObservedPods } from '../kubelet/pleg/observed-pods.ts';
import { cgroupPath, kubepodsCgroup, podCgroupPath } from '../kubelet/resources/cgroup-names.ts';
import { LogUsages } from '../kubelet/stats/log-usages.ts';
import { NodeReader } from '../kubelet/stats/node-reader.ts';
import { NodeStatsSource } from '../kubelet/stats/node-stats-source.ts';
import { RuntimeReader } from '../kubelet/stats/runtime-reader.ts';
import { SandboxNetworks } from '../kubelet/stats/sandbox-networks.ts';
import type { NodeStatistics } from '../kubelet/stats/stats-source.ts';
import type { CsiDeps } from '../kubelet/volumes/csi/csi-deps.ts';
import { csiVolumeUsage } from '../kubelet/volumes/csi/csi-volume-usage.ts';
import type { PodVolumes } from '../kubelet/volumes/pod-volumes.ts';
import { VolumeUsages } from '../kubelet/volumes/volume-usage.ts';
import type { PodWorkers } from '../kubelet/workers/pod-workers.ts';
import type { AgentParts } from './agent.ts';
import type { AgentFacts } from './agent-facts.ts';

/** kubelet's default of `volumeStatsAggPeriod`. */
const VOLUME_STATS_MS = 60_000;
/** Nodelet's own runtime reports all figures of a pod; with others kubelet reads cgroups by itself, and so does the agent. */
const OWN_RUNTIME = 'nodelet';

export interface StatsBuildDeps {
  readonly facts: AgentFacts;
  readonly observed: ObservedPods;
  readonly workers: PodWorkers;
  readonly volumes: PodVolumes;
  readonly csi: CsiDeps;
}

/** Statistics of the node and its pods, and the part that measures volumes. */
export interface AgentStats {
  readonly source: NodeStatistics;
  readonly parts: readonly Part[];
}

export function buildStats(
  { host, cri, settings, log }: AgentParts,
  { facts, observed, workers, volumes, csi }: StatsBuildDeps,
  life: AbortSignal,
): AgentStats {
  const { fs, clock, random, cgroups, cgroupStats, mounts } = host;
  const { rootDir, podLogsDir, cgroupDriver = 'cgroupfs', volumeStatsPeriodMs: periodMs = VOLUME_STATS_MS } = settings;
  const { nodeName, memoryCapacityBytes, systemCgroup, kubeletCgroup } = settings;
  const usages = new VolumeUsages({
    fs,
    clock,
    random,
    periodMs,
    volumes: () => volumes.measurable(),
    driverUsage: ({ path }, signal) => csiVolumeUsage(path, { fs, drivers: csi.drivers }, signal),
    onError: (podUid, volume, error) => log.debug('cannot measure a volume', { podUid, volume, error }),
  });
  const known = new WeakMap<Pod, string>();
  const cgroupOf = (pod: Pod): string => {
    const path = known.get(pod) ?? podCgroupPath(pod, settings);
    known.set(pod, path);
    return path;
  };
  const podsCgroup = cgroupPath(kubepodsCgroup(settings), settings);
  const networks = new SandboxNetworks({ fs, cgroups, clock, cgroupDriver });
  const reportsPods = facts.runtimeName === OWN_RUNTIME || settings.statsFromCri === true;
  const reader = new RuntimeReader({
    runtime: cri.runtime,
    cgroupStats,
    networks,
    clock,
    log,
    cgroupDriver,
    reportsPods,
  });
  const podOf = (uid: string): Pod | undefined => workers.all.get(uid)?.pod;
  const { runtime, images } = cri;
  const criMetrics = settings.statsFromCri ? new CriMetrics({ runtime: cri.runtime, clock, log }) : undefined;
  const cadvisor = new CadvisorMetrics(
    { rootDir, memoryCapacityBytes, cgroupDriver, podsCgroup, kubeletCgroup, systemCgroup },
    { observed, podOf, cgroupOf, cgroupStats, layers: reader, criMetrics, images, runtime, fs, mounts, clock, log },
    life,
  );
  const source = new NodeStatsSource(
    {
      observed,
      podOf,
      cgroupOf,
      node: new NodeReader(
        { nodeName, rootDir, memoryCapacityBytes, podsCgroup, systemCgroup },
        { fs, cgroupStats, images, clock, log },
      ),
      reader,
      cadvisor,
      logs: new LogUsages({ fs, clock, rootDir, podLogsDir }, life),
      volumes: usages,
      fs,
      clock,
      rootDir,
    },
    life,
  );
  // As in kubelet, volumes are not measured without a period.
  const parts = periodMs > 0 ? [{ name: 'volume usage', run: (until: AbortSignal) => usages.run(until) }] : [];
  return { source, parts };
}
