import type { Pod, Volume } from '../../api/generated/core-v1.ts';
import { amountsOf, containerRequests, isPodLevelResource } from '../../api/pod-resources.ts';
import type { FsStats, PodStats } from '../../api/stats-summary.ts';
import type { DiskLayout } from '../node/signals/disk-layout.ts';
import type { PressureSignal } from '../node/signals/pressure-signal.ts';
import { SIGNAL_RESOURCES } from './starved-resource.ts';

/** The figures of a pod; `undefined` if there are none. */
export type StatsOf = (pod: Pod) => PodStats | undefined;

type Compare = (a: Pod, b: Pod) => number;
type DiskUse = 'root' | 'logs' | 'volumes';

/** The pods in the order in which they are evicted for a signal. Pods without figures come first. */
export function rankPods(
  signal: PressureSignal,
  pods: readonly Pod[],
  statsOf: StatsOf,
  layout: DiskLayout,
): readonly Pod[] {
  const order = comparisons(signal, statsOf, layout);
  return pods.toSorted((a, b) => {
    for (const compare of order) {
      const result = compare(a, b);
      if (result !== 0) return result;
    }
    return 0;
  });
}

function comparisons(signal: PressureSignal, statsOf: StatsOf, layout: DiskLayout): readonly Compare[] {
  const resource = SIGNAL_RESOURCES[signal];
  switch (resource) {
    case 'memory': {
      const used = (_pod: Pod, stats: PodStats): number => stats.memory?.workingSetBytes ?? 0;
      return usedOverRequest(statsOf, used, { exceeds: 'memory', above: 'memory' });
    }
    case 'pids':
      return [byPriority, byFigure(statsOf, (_pod, stats) => stats.process_stats?.process_count ?? 0)];
    case 'ephemeral-storage':
    case 'inodes': {
      const uses = diskUses(signal, layout);
      const used = (pod: Pod, stats: PodStats): number => diskUsed(pod, stats, uses, resource);
      // As in kubelet, the request for storage in bytes is subtracted from inodes too.
      return usedOverRequest(statsOf, used, { exceeds: resource, above: 'ephemeral-storage' });
    }
  }
}

/** Pods over their request first, then those of lower priority, then those that are further above their request. */
function usedOverRequest(
  statsOf: StatsOf,
  used: (pod: Pod, stats: PodStats) => number,
  { exceeds, above }: { readonly exceeds: string; readonly above: string },
): readonly Compare[] {
  const isOver = (pod: Pod, stats: PodStats): number => (used(pod, stats) > requested(pod, exceeds) ? 1 : 0);
  return [
    byFigure(statsOf, isOver),
    byPriority,
    byFigure(statsOf, (pod, stats) => used(pod, stats) - requested(pod, above)),
  ];
}

/** The larger figure first. */
function byFigure(statsOf: StatsOf, figure: (pod: Pod, stats: PodStats) => number): Compare {
  return (a, b) => {
    const [ofA, ofB] = [statsOf(a), statsOf(b)];
    if (!ofA || !ofB) return Number(ofA !== undefined) - Number(ofB !== undefined);
    return figure(b, ofB) - figure(a, ofA);
  };
}

function byPriority(a: Pod, b: Pod): number {
  return (a.spec.priority ?? 0) - (b.spec.priority ?? 0);
}

/** The pod's request, as kubelet counts it here: resources of the pod replace all of its containers'. */
function requested({ spec }: Pod, resource: string): number {
  const ofPod = [...amountsOf({ ...spec.resources?.limits, ...spec.resources?.requests }).keys()];
  const own = ofPod.some(isPodLevelResource) ? amountsOf(spec.resources?.requests) : containerRequests(spec);
  const amount = own.get(resource);
  if (!amount || amount.isZero()) return 0;
  const overhead = amountsOf(spec.overhead).get(resource);
  return Number((overhead ? amount.add(overhead) : amount).value());
}

/** What a pod keeps on the file system of the signal. */
function diskUses(signal: PressureSignal, layout: DiskLayout): readonly DiskUse[] {
  const isOfImages = signal.startsWith('imagefs.');
  switch (layout) {
    case 'single':
      return ['root', 'logs', 'volumes'];
    case 'dedicatedImages':
      return signal.startsWith('nodefs.') ? ['logs', 'volumes'] : ['root'];
    case 'split':
      return isOfImages ? [] : ['root', 'logs', 'volumes'];
  }
}

function diskUsed(
  pod: Pod,
  stats: PodStats,
  uses: readonly DiskUse[],
  resource: 'ephemeral-storage' | 'inodes',
): number {
  const amount = (fs: FsStats | undefined): number => (resource === 'inodes' ? fs?.inodesUsed : fs?.usedBytes) ?? 0;
  const ofContainers = stats.containers.flatMap(({ rootfs, logs }) => [
    uses.includes('root') ? amount(rootfs) : 0,
    uses.includes('logs') ? amount(logs) : 0,
  ]);
  const local = new Set((pod.spec.volumes ?? []).filter(isOnNode).map(({ name }) => name));
  const volumes = uses.includes('volumes') ? (stats.volume ?? []).filter(({ name }) => local.has(name)) : [];
  return [...ofContainers, ...volumes.map(amount)].reduce((sum, each) => sum + each, 0);
}

/** Volumes on the node's own file system. */
function isOnNode({ hostPath, gitRepo, emptyDir, configMap }: Volume): boolean {
  return [hostPath, gitRepo, configMap].some((each) => each !== undefined) || (emptyDir && !emptyDir.medium) === true;
}
