import type { Pod } from '../../api/generated/core-v1.ts';
import { podLimits } from '../../api/pod-resources.ts';
import type { PodStats } from '../../api/stats-summary.ts';
import { parseQuantity, type Quantity } from '../../base/quantity.ts';
import type { DiskLayout } from '../node/signals/disk-layout.ts';
import type { StorageViolation } from '../pod/pod-cause.ts';

const STORAGE = 'ephemeral-storage';

/** Whether the pod has a limit of local storage at all. */
export function limitsLocalStorage(pod: Pod): boolean {
  const { containers, volumes = [] } = pod.spec;
  return (
    volumes.some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined) ||
    containers.some(({ resources }) => resources?.limits?.[STORAGE] !== undefined) ||
    podLimits(pod).has(STORAGE)
  );
}

/** The first limit that the pod exceeds, in kubelet's order: volumes, the pod, containers. */
export function storageViolation(pod: Pod, stats: PodStats, layout: DiskLayout): StorageViolation | undefined {
  return emptyDirViolation(pod, stats) ?? podViolation(pod, stats) ?? containerViolation(pod, stats, layout);
}

export function violationMessage(violation: StorageViolation): string {
  switch (violation.kind) {
    case 'emptyDir':
      return `Usage of EmptyDir volume "${violation.volume}" exceeds the limit "${violation.limit}". `;
    case 'pod':
      return `Pod ephemeral local storage usage exceeds the total limit of containers ${violation.limit}. `;
    case 'container':
      return `Container ${violation.container} exceeded its local ephemeral storage limit "${violation.limit}". `;
  }
}

function emptyDirViolation({ spec }: Pod, { volume: measured = [] }: PodStats): StorageViolation | undefined {
  for (const { name, emptyDir } of spec.volumes ?? []) {
    const limit = emptyDir?.sizeLimit === undefined ? undefined : parseQuantity(emptyDir.sizeLimit);
    const used = measured.find((each) => each.name === name)?.usedBytes;
    if (limit && isPositive(limit) && used !== undefined && exceeds(used, limit)) {
      return { kind: 'emptyDir', volume: name, limit: limit.toString() };
    }
  }
  return undefined;
}

function podViolation(pod: Pod, stats: PodStats): StorageViolation | undefined {
  const limit = podLimits(pod).get(STORAGE);
  const used = stats[STORAGE]?.usedBytes ?? 0;
  return limit && exceeds(used, limit) ? { kind: 'pod', limit: limit.toString() } : undefined;
}

/** The writable layer counts only if it is on the node's file system. */
function containerViolation({ spec }: Pod, stats: PodStats, layout: DiskLayout): StorageViolation | undefined {
  for (const { name, rootfs, logs } of stats.containers) {
    const text = spec.containers.find((each) => each.name === name)?.resources?.limits?.[STORAGE];
    const limit = text === undefined ? undefined : parseQuantity(text);
    const used = (logs?.usedBytes ?? 0) + (layout === 'single' ? (rootfs?.usedBytes ?? 0) : 0);
    if (limit && !limit.isZero() && exceeds(used, limit)) {
      return { kind: 'container', container: name, limit: limit.toString() };
    }
  }
  return undefined;
}

function isPositive(amount: Quantity): boolean {
  return !amount.isZero() && !amount.isNegative();
}

function exceeds(usedBytes: number, limit: Quantity): boolean {
  return BigInt(usedBytes) * 1_000_000_000n > limit.nano;
}
