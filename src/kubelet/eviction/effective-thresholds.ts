import type { DiskLayout } from '../node/signals/disk-layout.ts';
import type { PressureSignal, PressureThreshold } from '../node/signals/pressure-signal.ts';

export interface ThresholdFacts {
  /** All pods together are limited to the allocatable resources. */
  readonly enforcesPods: boolean;
  readonly layout: DiskLayout;
}

/**
 * The configured thresholds and those that kubelet derives from them, memory first.
 *
 * 1. If pods are limited to the allocatable resources, each hard memory threshold also applies to the memory of all pods.
 * 2. Thresholds of the container file system cannot be configured: they are those of the file system that it is on.
 */
export function effectiveThresholds(
  configured: readonly PressureThreshold[],
  { enforcesPods, layout }: ThresholdFacts,
): readonly PressureThreshold[] {
  const own = configured.filter(({ signal }) => !signal.startsWith('containerfs.'));
  const ofPods = enforcesPods ? copies(own, 'memory.available', 'allocatableMemory.available').filter(isHard) : [];
  const shared = layout === 'dedicatedImages' ? 'imagefs' : 'nodefs';
  const ofContainers = (['available', 'inodesFree'] as const).flatMap((figure) =>
    copies(own, `${shared}.${figure}`, `containerfs.${figure}`),
  );
  const all = [...own, ...ofPods, ...ofContainers];
  return [...all.filter(isOfMemory), ...all.filter((each) => !isOfMemory(each))];
}

export function isHard({ gracePeriodMs }: PressureThreshold): boolean {
  return gracePeriodMs === 0;
}

export function isOfMemory({ signal }: PressureThreshold): boolean {
  return signal === 'memory.available' || signal === 'allocatableMemory.available';
}

function copies(all: readonly PressureThreshold[], from: PressureSignal, to: PressureSignal): PressureThreshold[] {
  return all.filter(({ signal }) => signal === from).map((each) => ({ ...each, signal: to }));
}
