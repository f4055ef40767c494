import { type CheckContext, initsOf, roleOf } from './check-context.ts';
import type { ContainerRecord, PodRecord } from './pod-records.ts';

const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 300_000;
/** After twice the longest pause the back-off is reset, counted from a moment that is not visible from outside. */
const LONG_RUN_MS = 350_000;

/** Earlier init containers have succeeded in the same sandbox; earlier sidecars were started there. */
export function checkInitOrder(pod: PodRecord, started: ContainerRecord, { fail }: CheckContext): void {
  if (roleOf(pod, started.name) === 'ephemeral') return;
  const inits = initsOf(pod);
  const index = inits.findIndex(({ name }) => name === started.name);
  for (const { name } of index === -1 ? inits : inits.slice(0, index)) {
    const here = pod.containers.filter((each) => each.name === name && each.sandboxId === started.sandboxId);
    const isThrough = roleOf(pod, name) === 'sidecar' ? here.some(hasRun) : here.some(({ exitCode }) => exitCode === 0);
    if (!isThrough) fail(5, `${pod.uid}/${started.name} was started before ${name} had completed`);
  }
}

export function checkRestartPolicy(pod: PodRecord, started: ContainerRecord, { fail }: CheckContext): void {
  const before = earlier(pod, started).filter(hasRun);
  const policy = pod.versions.at(-1)?.spec.restartPolicy;
  const what = `${pod.uid}/${started.name}`;
  const last = before.at(-1);
  if (roleOf(pod, started.name) === 'ephemeral') {
    if (last) fail(6, `${what} is ephemeral, but was started again`);
  } else if (roleOf(pod, started.name) === 'init') {
    const here = before.filter(({ sandboxId }) => sandboxId === started.sandboxId);
    if (here.some(({ exitCode }) => exitCode === 0))
      fail(6, `${what} was started again after it had succeeded in this sandbox`);
    if (policy === 'Never' && here.length > 0) fail(6, `${what} was started again, though the pod never restarts`);
  } else if (roleOf(pod, started.name) === 'main') {
    const isSame = last?.image === started.image;
    if (policy === 'Never' && isSame) fail(6, `${what} was started again, though the pod never restarts`);
    const hasSucceeded = last?.exitCode === 0 && last.stopRequestedAt === undefined && last.image === started.image;
    if (policy === 'OnFailure' && hasSucceeded) fail(6, `${what} was started again after it had succeeded`);
  }
}

/** Restarts during one agent process: the back-off is kept in memory. */
interface Restarts {
  readonly processNumber: number;
  count: number;
  lastAt: number;
}

const restartsOf = new WeakMap<PodRecord, Map<string, Restarts>>();

/** The back-off of a container that exits repeatedly: none, then 10 s, 20 s, … five minutes. */
export function checkBackoff(
  pod: PodRecord,
  started: ContainerRecord,
  { processNumber, now, jumpedAt, fail }: CheckContext,
): void {
  const last = earlier(pod, started).at(-1);
  if (last?.endedAt === undefined || last.image !== started.image) return;
  const stopRequestedAt = last.preStop?.at ?? last.stopRequestedAt;
  if (stopRequestedAt !== undefined && !wasStoppedByHook(last, stopRequestedAt)) return;
  // The agent believes that it killed the container.
  if (last.exitedBeforeStop) return;
  // In a new sandbox the back-off of init containers starts again.
  if (roleOf(pod, started.name) !== 'main' && last.sandboxId !== started.sandboxId) return;
  const all = restartsOf.get(pod) ?? new Map<string, Restarts>();
  restartsOf.set(pod, all);
  const key = `${started.incarnation} ${started.name} ${started.image}`;
  const known = all.get(key);
  if (
    known?.processNumber !== processNumber() ||
    jumpedAt() >= last.endedAt ||
    last.endedAt - known.lastAt > LONG_RUN_MS
  ) {
    all.set(key, { processNumber: processNumber(), count: 1, lastAt: now() });
    return;
  }
  const pause = Math.min(FIRST_PAUSE_MS * 2 ** (known.count - 1), LONGEST_PAUSE_MS);
  const waited = now() - last.endedAt;
  if (waited < pause - 2) {
    fail(7, `${pod.uid}/${started.name} was started again after ${waited} ms instead of ${pause}`);
  }
  known.count++;
  known.lastAt = now();
}

/**
 * The container was stopped because its `postStart` hook had failed: this counts as a failure. The agent requests that
 * stop once. When the call fails, the container keeps running, and a later stop has a different cause, such as a failed
 * liveness probe. That restart has no back-off, as in kubelet: a container that was killed in the same pass counts as
 * running.
 */
function wasStoppedByHook({ postStart }: ContainerRecord, stopRequestedAt: number): boolean {
  if (!postStart?.fails || stopRequestedAt < postStart.endsAt) return false;
  return postStart.stops.length === 1 && postStart.stops[0] === postStart.processNumber;
}

/** Previous containers of the same name and incarnation, oldest first. */
function earlier(pod: PodRecord, started: ContainerRecord): ContainerRecord[] {
  return pod.containers.filter(
    ({ id, name, incarnation }) => id !== started.id && name === started.name && incarnation === started.incarnation,
  );
}

/** Includes a container that failed to start: it has ended. */
function hasRun({ startedAt, endedAt }: ContainerRecord): boolean {
  return startedAt !== undefined || endedAt !== undefined;
}
