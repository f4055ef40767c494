import type { Pod } from '../../api/generated/core-v1.ts';

/** The time that pods of a priority, up to the next higher one in the list, get to end. */
export interface ShutdownPeriod {
  readonly priority: number;
  readonly seconds: number;
}

/** Pods that end at the same time. */
export interface ShutdownGroup extends ShutdownPeriod {
  readonly pods: readonly Pod[];
}

export interface ShutdownSettings {
  /** kubelet's `shutdownGracePeriod`. */
  readonly graceMs: number;
  /** kubelet's `shutdownGracePeriodCriticalPods`, a part of the former. */
  readonly criticalMs: number;
  /** kubelet's `shutdownGracePeriodByPodPriority`. */
  readonly byPriority: readonly ShutdownPeriod[];
  /** The feature gate GracefulNodeShutdownBasedOnPodPriority: `byPriority` counts, and the times of the shutdown are kept. */
  readonly isPriorityOn: boolean;
}

const DEFAULT_PRIORITY = 0;
const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

/** The periods from the lowest priority to the highest. Empty: shutdowns are not delayed. */
export function shutdownPeriods(settings: ShutdownSettings): readonly ShutdownPeriod[] {
  const { graceMs, criticalMs, byPriority, isPriorityOn } = settings;
  if (isPriorityOn && byPriority.length > 0) return byPriority.toSorted((a, b) => a.priority - b.priority);
  if (graceMs === 0 || criticalMs > graceMs) return [];
  return [
    { priority: DEFAULT_PRIORITY, seconds: Math.floor((graceMs - criticalMs) / 1000) },
    { priority: SYSTEM_CRITICAL_PRIORITY, seconds: Math.floor(criticalMs / 1000) },
  ];
}

/** How long the whole shutdown may take. */
export function totalSeconds(periods: readonly ShutdownPeriod[]): number {
  return periods.reduce((sum, { seconds }) => sum + seconds, 0);
}

/**
 * Each pod belongs to the highest period that is not above its priority, else to the lowest one. `periods` are sorted by
 * priority.
 */
export function groupByPriority(periods: readonly ShutdownPeriod[], pods: readonly Pod[]): readonly ShutdownGroup[] {
  const indexOf = ({ spec: { priority = 0 } }: Pod): number => {
    const exact = periods.findIndex((period) => period.priority === priority);
    return exact >= 0
      ? exact
      : Math.max(
          0,
          periods.findLastIndex((period) => period.priority < priority),
        );
  };
  return periods.map((period, index) => ({ ...period, pods: pods.filter((pod) => indexOf(pod) === index) }));
}
