import { initsOf, roleOf, type Scene } from './scene.ts';
import type { ContainerRecord, PodRecord } from './truth.ts';

const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 300_000;
/** After twice the longest pause a container begins anew, counted from a moment that cannot be seen from outside. */
const LONG_RUN_MS = 350_000;

/** Init containers before it have done their work in the same sandbox; sidecars before it were started there. */
export function checkInitOrder(pod: PodRecord, started: ContainerRecord, { fail }: Scene): void {
  if (roleOf(pod, started.name) === 'ephemeral') return;
  const inits = initsOf(pod);
  const place = inits.findIndex(({ name }) => name === started.name);
  for (const { name } of place === -1 ? inits : inits.slice(0, place)) {
    const here = pod.containers.filter((each) => each.name === name && each.sandboxId === started.sandboxId);
    const isThrough = roleOf(pod, name) === 'sidecar' ? here.some(hasRun) : here.some(({ exitCode }) => exitCode === 0);
    if (!isThrough) fail(5, `${pod.uid}/${started.name} was started before ${name} was through`);
  }
}

export function checkRestartPolicy(pod: PodRecord, started: ContainerRecord, { fail }: Scene): void {
  const before = earlier(pod, started).filter(hasRun);
  const policy = pod.versions.at(-1)?.spec.restartPolicy;
  const what = `${pod.uid}/${started.name}`;
  const last = before.at(-1);
  if (roleOf(pod, started.name) === 'ephemeral') {
    if (last) fail(6, `${what} is ephemeral, and was started again`);
  } else if (roleOf(pod, started.name) === 'init') {
    const here = before.filter(({ sandboxId }) => sandboxId === started.sandboxId);
    if (here.some(({ exitCode }) => exitCode === 0)) fail(6, `${what} had done its work already`);
    if (policy === 'Never' && here.length > 0) fail(6, `${what} was started again, though the pod never restarts`);
  } else if (roleOf(pod, started.name) === 'main') {
    const isSame = last?.image === started.image;
    if (policy === 'Never' && isSame) fail(6, `${what} was started again, though the pod never restarts`);
    const hasSucceeded = last?.exitCode === 0 && last.askedAt === undefined && last.image === started.image;
    if (policy === 'OnFailure' && hasSucceeded) fail(6, `${what} was started again after it had succeeded`);
  }
}

/** Of restarts in one life of the agent: its memory of them ends with it. */
interface Restarts {
  readonly life: number;
  count: number;
  lastAt: number;
}

const restartsOf = new WeakMap<PodRecord, Map<string, Restarts>>();

/** A container that ends by itself again and again is left alone: not at all, then 10 s, 20 s, … five minutes. */
export function checkBackoff(pod: PodRecord, started: ContainerRecord, { life, now, jumpedAt, fail }: Scene): void {
  const last = earlier(pod, started).at(-1);
  // A container that is stopped because its hook has failed has failed itself.
  const askedAt = last?.preStop?.at ?? last?.askedAt;
  const hasFailed = askedAt === undefined || (last?.postStart?.fails && askedAt >= last.postStart.endsAt);
  if (last?.endedAt === undefined || !hasFailed || last.image !== started.image) return;
  // As far as the agent knows it was killed.
  if (last.stopCameLate) return;
  // In a new sandbox init containers begin anew.
  if (roleOf(pod, started.name) !== 'main' && last.sandboxId !== started.sandboxId) return;
  const all = restartsOf.get(pod) ?? new Map<string, Restarts>();
  restartsOf.set(pod, all);
  const key = `${started.incarnation} ${started.name} ${started.image}`;
  const known = all.get(key);
  if (known?.life !== life() || jumpedAt() >= last.endedAt || last.endedAt - known.lastAt > LONG_RUN_MS) {
    all.set(key, { life: life(), count: 1, lastAt: now() });
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

/** Of the same name and incarnation, oldest first. */
function earlier(pod: PodRecord, started: ContainerRecord): ContainerRecord[] {
  return pod.containers.filter(
    ({ id, name, incarnation }) => id !== started.id && name === started.name && incarnation === started.incarnation,
  );
}

/** Also one that the runtime could not start: it has ended then. */
function hasRun({ startedAt, endedAt }: ContainerRecord): boolean {
  return startedAt !== undefined || endedAt !== undefined;
}
