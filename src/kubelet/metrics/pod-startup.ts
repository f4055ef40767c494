import type { Pod } from '../../api/generated/core-v1.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import { isSidecar } from '../pod/restart-rules.ts';
import { isTerminal } from '../status/pod-phase.ts';

const NS_PER_MS = 1e6;

/** The start of a pod so far. */
export type PodStartup =
  | {
      readonly kind: 'starting';
      /** Pulls that have not finished, in the order of their starts. */
      readonly pullsSinceMs: readonly number[];
      readonly pulls: readonly Interval[];
      /** The API server has a status with all containers running. */
      readonly isReported: boolean;
      /** When the watch showed all containers as running. */
      readonly watchedMs: number | undefined;
    }
  /** The pod was measured, or does not count. */
  | { readonly kind: 'done' };

export type Starting = Extract<PodStartup, { kind: 'starting' }>;

interface Interval {
  readonly fromMs: number;
  readonly toMs: number;
}

export const NEW_POD: Starting = {
  kind: 'starting',
  pullsSinceMs: [],
  pulls: [],
  isReported: false,
  watchedMs: undefined,
};

/** Whether the pod counts: it has not started yet, and the scheduler never failed to place it. */
export function isStarting({ status }: Pod): boolean {
  return status?.startTime === undefined && !isTerminal(status?.phase);
}

export function isUnschedulable({ status }: Pod): boolean {
  return (status?.conditions ?? []).some(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable');
}

/** Every container is reported as running. */
export function allContainersRun({ status }: Pod): boolean {
  return (status?.containerStatuses ?? []).every(({ state }) => state?.running?.startedAt !== undefined);
}

export function withPullStarted(startup: Starting, nowMs: number): Starting {
  return { ...startup, pullsSinceMs: [...startup.pullsSinceMs, nowMs] };
}

/** The oldest unfinished pull has finished. */
export function withPullFinished(startup: Starting, nowMs: number): Starting {
  const [fromMs, ...rest] = startup.pullsSinceMs;
  if (fromMs === undefined) return startup;
  return { ...startup, pullsSinceMs: rest, pulls: [...startup.pulls, { fromMs, toMs: nowMs }] };
}

/** The time during which any pull ran. */
export function pullingMs(pulls: readonly Interval[]): number {
  let total = 0;
  let endMs = Number.NEGATIVE_INFINITY;
  for (const { fromMs, toMs } of pulls.toSorted((a, b) => a.fromMs - b.fromMs)) {
    total += Math.max(0, toMs - Math.max(fromMs, endMs));
    endMs = Math.max(endMs, toMs);
  }
  return total;
}

/** The time that init containers ran, one after the other. Sidecars are not counted. */
export function initContainersMs({ spec }: Pod, observed: Pick<ObservedPod, 'containers'> | undefined): number {
  const counted = new Set((spec.initContainers ?? []).filter((each) => !isSidecar(each)).map(({ name }) => name));
  return (observed?.containers ?? []).reduce((sum, container) => {
    if (container.state !== 'exited' || !counted.has(container.name)) return sum;
    return sum + Math.max(0, Number(container.finishedAt - container.startedAt) / NS_PER_MS);
  }, 0);
}

/** A pod with a volume other than these is stateful and does not count for the service level. */
export function isStateful({ spec }: Pod): boolean {
  return (spec.volumes ?? []).some(
    ({ secret, configMap, downwardAPI, emptyDir, projected }) =>
      !secret && !configMap && !downwardAPI && !emptyDir && !projected,
  );
}
