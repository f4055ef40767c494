import type { ObservedContainer, ObservedPod, ObservedSandbox } from '../pod/observed-pod.ts';

/**
 * What the runtime remembers of the past of pods, and may forget.
 *
 * 1. Only the dead: a container that has ended never runs again, and a sandbox that is not ready never gets ready. So a
 *    decision that was made from an older look at the pod is still right when it is carried out.
 * 2. Of a pod whose worker may still start containers the newest container under each name stays, whatever it is and
 *    whatever the limits say. That one alone is what a worker decides by: whether to restart, how far the init
 *    containers are, how long the pause is, what the next restart count is.
 * 3. Of every pod the newest sandbox stays: the next one counts on from its attempt.
 */

/** How many dead containers stay. kubelet's `--minimum-container-ttl-duration` and `--maximum-dead-containers…`. */
export interface DeadContainerPolicy {
  /** A container that was made more recently stays. */
  readonly minimumAgeMs: number;
  /** Under each name of each pod; absent: no limit. */
  readonly maxPerContainer: number | undefined;
  /** On the whole node; absent: no limit. */
  readonly maxTotal: number | undefined;
}

export interface CollectablePod {
  readonly pod: ObservedPod;
  /** Its worker may still start containers. */
  readonly isLive: boolean;
}

export interface DeadContainer {
  readonly pod: ObservedPod;
  readonly container: ObservedContainer;
  /** The newest under its name in a pod that is live. */
  readonly isNeeded: boolean;
}

/**
 * At the end of a container: of those that have ended under one name, all but so many, the oldest first. kubelet keeps at
 * least one here, whatever its limits are.
 */
export function excessExitedContainers(pod: ObservedPod, { maxPerContainer }: DeadContainerPolicy): readonly DeadContainer[] {
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

/** Now and then, on the whole node: what is beyond the limits, in the order in which it goes. */
export function excessDeadContainers(
  pods: readonly CollectablePod[],
  { minimumAgeMs, maxPerContainer, maxTotal }: DeadContainerPolicy,
  nowMs: number,
): readonly DeadContainer[] {
  const units = pods.flatMap(deadUnits).map((unit) => unit.filter((dead) => ageOf(dead, nowMs) >= minimumAgeMs));
  const [removed, left] = splitExcess(
    units.filter((unit) => unit.length > 0),
    maxPerContainer ?? Number.POSITIVE_INFINITY,
  );
  if (maxTotal === undefined || left.flat().length <= maxTotal) return removed;

  // First the same number for every name, then by age alone.
  const [more, fewer] = splitExcess(left, Math.max(1, Math.floor(maxTotal / left.length)));
  const rest = fewer.flat().sort(byAge);
  const excess = Math.max(0, rest.length - maxTotal);
  return [...removed, ...more, ...rest.filter(({ isNeeded }) => !isNeeded).slice(0, excess)];
}

/** Sandboxes of the past that nothing is left of. */
export function unusedSandboxes({ sandboxes, containers }: ObservedPod): readonly ObservedSandbox[] {
  const inUse = new Set(containers.map(({ sandboxId }) => sandboxId));
  return sandboxes
    .slice(1)
    .filter(({ id, ready }) => !ready && !inUse.has(id))
    .reverse();
}

/**
 * The dead under each name, newest first. One that was made and never started is dead when there is a newer one; else it
 * is about to start, or could not be, and what ended before it tells more of the pod.
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

/** What goes of each unit when so many stay, oldest first, and what stays of it. */
function splitExcess(units: readonly DeadContainer[][], max: number): readonly [DeadContainer[], DeadContainer[][]] {
  const stays = ({ isNeeded }: DeadContainer, index: number): boolean => isNeeded || index < max;
  const removed = units.flatMap((unit) => unit.filter((dead, index) => !stays(dead, index)).reverse());
  return [removed, units.map((unit) => unit.filter(stays))];
}

function ageOf({ container }: DeadContainer, nowMs: number): number {
  return nowMs - Number(container.createdAt / 1_000_000n);
}

/** Oldest first. */
function byAge({ container: a }: DeadContainer, { container: b }: DeadContainer): number {
  if (a.createdAt === b.createdAt) return 0;
  return a.createdAt < b.createdAt ? -1 : 1;
}
