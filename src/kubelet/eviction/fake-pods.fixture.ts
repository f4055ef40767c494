import type { Container, Pod } from '../../api/generated/core-v1.ts';
import type { PodStats } from '../../api/stats-summary.ts';

const TIME = '2026-01-01T00:00:00Z';

/** A pod of the API server with one container. */
export function apiPod(name: string, spec: Partial<Pod['spec']> = {}, container: Partial<Container> = {}): Pod {
  return {
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      annotations: { 'kubernetes.io/config.source': 'api' },
    },
    spec: { containers: [{ name: 'main', image: 'busybox:1', ...container }], ...spec },
  };
}

export interface PodFigures {
  readonly memory?: number;
  readonly processes?: number;
  readonly root?: number;
  readonly logs?: number;
  readonly volumes?: Readonly<Record<string, number>>;
  /** All of the pod's local storage. */
  readonly storage?: number;
}

/** Figures of a pod with one container; those of disks are bytes and inodes at once. */
export function podStats({ metadata }: Pod, figures: PodFigures): PodStats {
  const { memory, processes, root, logs, volumes = {}, storage } = figures;
  const disk = (used: number) => ({ time: TIME, usedBytes: used, inodesUsed: used });
  const ofMemory = memory === undefined ? {} : { memory: { time: TIME, workingSetBytes: memory } };
  return {
    podRef: { name: metadata.name, namespace: metadata.namespace ?? '', uid: metadata.uid },
    startTime: TIME,
    containers: [
      {
        name: 'main',
        startTime: TIME,
        ...ofMemory,
        ...(root !== undefined && { rootfs: disk(root) }),
        ...(logs !== undefined && { logs: disk(logs) }),
      },
    ],
    ...ofMemory,
    volume: Object.entries(volumes).map(([name, used]) => ({ name, ...disk(used) })),
    ...(processes !== undefined && { process_stats: { process_count: processes } }),
    ...(storage !== undefined && { 'ephemeral-storage': disk(storage) }),
  };
}
