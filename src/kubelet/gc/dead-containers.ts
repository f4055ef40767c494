import type { ObservedContainer, ObservedPod, ObservedSandbox } from '../pod/observed-pod.ts';

/**
 * Selects dead containers and sandboxes for removal.
 *
 * 1. Only dead ones: an exited container never runs again, and a sandbox that is not ready never becomes ready. A
 *    selection from an older observation is therefore still valid when it is executed.
 * 2. If the pod's worker may still start containers, the newest container of each name stays, whatever the limits. The
 *    worker derives from it whether to restart, the progress of init containers, the back-off and the restart count.
 * 3. The newest sandbox of each pod stays: the next one continues its attempt number.
 */

/** Which dead containers stay. kubelet's `--minimum-container-ttl-duration` and `--maximum-dead-containers…`. */
export interface DeadContainerPolicy {
  /** Younger containers stay. */
  readonly minimumAgeMs: number;
  /** Per container name and pod; absent: no limit. */
  readonly maxPerContainer: number | undefined;
  /** On the whole node; absent: no limit. */
  readonly maxTotal: number | undefined;
}

export interface CollectablePod {
  readonly pod: ObservedPod;
  /** The pod's worker may still start containers. */
  readonly isLive: boolean;
}

export interface DeadContainer {
  readonly pod: ObservedPod;
  readonly container: ObservedContainer;
  /** The newest container of its name in a live pod. */
  readonly isNeeded: boolean;
}

/**
 * The exited containers of a pod beyond the limit per name, oldest first. Used after an exit. kubelet keeps at least
 * one here, whatever its limits.
 */
export function excessExitedContainers(
  pod: ObservedPod,
  { maxPerContainer }: DeadContainerPolicy,
): readonly DeadContainer[] {
  const keep = Math.max(maxPerContainer ?? 0, 1);
  const units = Map.groupBy(pod.containers, ({ name }) => name);
  return [...units.values()].flatMap((unit) => {
    const ended = unit.filter(({ state }) => state === 'exited');
    return ended
      .slice(keep)
      .map((container) => ({ pod, container, isNeeded: false }))
      .reverse();
  });
}

/** The dead containers of the node beyond the limits, in the order of removal. */
export function excessDeadContainers(
  pods: readonly CollectablePod[],
  { minimumAgeMs, maxPerContainer, maxTotal }: DeadContainerPolicy,
  nowMs: number,
): readonly DeadContainer[] {
  const units = pods
    .flatMap(deadUnits)
    .map((unit) => unit.filter((dead) => containerAgeMs(dead, nowMs) >= minimumAgeMs));
  const [removed, left] = splitExcess(
    units.filter((unit) => unit.length > 0),
    maxPerContainer ?? Number.POSITIVE_INFINITY,
  );
  if (maxTotal === undefined || left.flat().length <= maxTotal) return removed;

  // First the same number for every name, then by age.
  const [more, fewer] = splitExcess(left, Math.max(1, Math.floor(maxTotal / left.length)));
  const rest = fewer.flat().sort(byAge);
  const excess = Math.max(0, rest.length - maxTotal);
  return [...removed, ...more, ...rest.filter(({ isNeeded }) => !isNeeded).slice(0, excess)];
}

/** All dead containers of a pod whose worker starts none any more; nothing of other pods. */
export function deadContainersOfEndedPod(pod: CollectablePod): readonly DeadContainer[] {
  return pod.isLive ? [] : deadUnits(pod).flat();
}

/** Old sandboxes without containers, oldest first. */
export function unusedSandboxes({ sandboxes, containers }: ObservedPod): readonly ObservedSandbox[] {
  const inUse = new Set(containers.map(({ sandboxId }) => sandboxId));
  return sandboxes
    .slice(1)
    .filter(({ id, ready }) => !ready && !inUse.has(id))
    .reverse();
}

/**
 * Dead containers of each name, newest first. A created container counts as dead only if a newer one exists; otherwise
 * it is about to start, or its start failed.
 */
function deadUnits({ pod, isLive }: CollectablePod): DeadContainer[][] {
  const units = Map.groupBy(pod.containers, ({ name }) => name);
  return [...units.values()].map((unit) =>
    unit.flatMap((container, index) => {
      const isNewest = index === 0;
      const isDead = container.state !== 'running' && !(isNewest && container.state === 'created');
      return isDead ? [{ pod, container, isNeeded: isLive && isNewest }] : [];
    }),
  );
}

/** Splits each unit into the containers beyond `max`, oldest first, and those that stay. */
function splitExcess(units: readonly DeadContainer[][], max: number): readonly [DeadContainer[], DeadContainer[][]] {
  const stays = ({ isNeeded }: DeadContainer, index: number): boolean => isNeeded || index < max;
  const removed = units.flatMap((unit) => unit.filter((dead, index) => !stays(dead, index)).reverse());
  return [removed, units.map((unit) => unit.filter(stays))];
}

function containerAgeMs({ container }: DeadContainer, nowMs: number): number {
  return nowMs - Number(container.createdAt / 1_000_000n);
}

/** Oldest first. */
function byAge({ container: a }: DeadContainer, { container: b }: DeadContainer): number {
  if (a.createdAt === b.createdAt) return 0;
  return a.createdAt < b.createdAt ? -1 : 1;
}
