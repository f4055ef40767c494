import type { Pod } from '../../api/generated/core-v1.ts';
import type { ContainerStats, PodStats } from '../../api/stats-summary.ts';
import { formatTime } from '../../base/rfc3339.ts';
import type { ContainerStats as RuntimeContainerStats } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { CgroupStats } from '../../host/cgroup-stats.ts';
import type { Clock } from '../../host/clock.ts';
import type { StatsSource } from '../stats/stats-source.ts';

const POD_UID = 'io.kubernetes.pod.uid';
/** A runtime that is slower than this is not waited for: pods are ranked by their cgroups. */
const RUNTIME_TIMEOUT_MS = 2_000;

export interface RuntimePodStatsDeps {
  readonly active: () => readonly Pod[];
  readonly cgroupOf: (pod: Pod) => string;
  readonly cgroupStats: Pick<CgroupStats, 'usage'>;
  readonly runtime: Pick<RuntimeService, 'listContainerStats'>;
  readonly clock: Clock;
}

/** Memory and processes of pods from their cgroups; memory and writable layers of containers from the runtime. */
export function runtimePodStats(deps: RuntimePodStatsDeps): Pick<StatsSource, 'pods'> {
  const { active, cgroupOf, cgroupStats, clock } = deps;
  return {
    async pods(signal) {
      const pods = active();
      const time = formatTime(clock.now());
      const [used, containers] = await Promise.all([
        cgroupStats.usage(pods.map(cgroupOf)),
        containersByPod(deps, signal),
      ]);
      return pods.flatMap((pod): PodStats[] => {
        const usage = used.get(cgroupOf(pod));
        if (!usage) return [];
        const { name, namespace = '', uid } = pod.metadata;
        const { usageBytes, workingSetBytes } = usage.memory;
        return [
          {
            podRef: { name, namespace, uid },
            startTime: time,
            containers: (containers.get(uid) ?? []).map((each) => containerStats(each, time)),
            memory: { time, usageBytes, workingSetBytes },
            process_stats: { process_count: usage.threads },
          },
        ];
      });
    },
  };
}

async function containersByPod(
  { runtime, clock }: RuntimePodStatsDeps,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly RuntimeContainerStats[]>> {
  const until = AbortSignal.any([signal, clock.deadline(RUNTIME_TIMEOUT_MS)]);
  const { stats } = await runtime.listContainerStats({ filter: undefined }, until).catch(() => ({ stats: [] }));
  return Map.groupBy(stats, ({ attributes }) => attributes?.labels[POD_UID] ?? '');
}

function containerStats({ attributes, memory, writableLayer }: RuntimeContainerStats, time: string): ContainerStats {
  const [workingSet, bytes, inodes] = [memory?.workingSetBytes, writableLayer?.usedBytes, writableLayer?.inodesUsed];
  return {
    name: attributes?.metadata?.name ?? '',
    startTime: time,
    ...(workingSet && { memory: { time, workingSetBytes: Number(workingSet.value) } }),
    ...(bytes && {
      rootfs: { time, usedBytes: Number(bytes.value), ...(inodes && { inodesUsed: Number(inodes.value) }) },
      logs: { time, usedBytes: 0 },
    }),
  };
}
