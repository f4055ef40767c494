import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { formatPod } from '../../api/pod-names.ts';
import { formatDurationMs } from '../../base/duration.ts';
import type { Clock } from '../../host/clock.ts';
import { containerFieldPath } from '../pod/container-field-path.ts';
import { containerOf } from '../pod/container-of.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import { eventOf, PodError } from '../pod/pod-error.ts';
import { allOf } from './all-of.ts';
import { containerHash } from './config/container-hash.ts';
import type { CrashBackoff } from './crash-backoff.ts';
import type { ContainerStart } from './pod-plan.ts';
import { type ContainerPlace, type StartDeps, startContainer } from './start-container.ts';

export interface StartAllDeps extends StartDeps {
  readonly clock: Clock;
  readonly backoff: CrashBackoff;
  /** Called at once when a container has started or could not, while others may still be on their way. */
  readonly tried: (pod: Pod, name: string, failure: PodError | undefined) => void;
}

/** What did not come up, by container name. */
export type StartFailures = ReadonlyMap<string, PodError>;

/**
 * Starts containers side by side where none depends on another. Init containers and sidecars go one after the other,
 * main ones follow together; those after one with a `postStart` hook wait for its hook, for users rely on that order.
 * Ephemeral ones wait for nobody. A container that cannot start keeps no other from it. Settles when all have.
 */
export async function startContainers(
  place: ContainerPlace,
  starts: readonly ContainerStart[],
  deps: StartAllDeps,
  signal: AbortSignal,
): Promise<StartFailures> {
  const failures = new Map<string, PodError>();
  const start = async ({ name }: ContainerStart): Promise<void> => {
    signal.throwIfAborted();
    const container = containerOf(place.pod.spec, name);
    const failure = container && (await failureOf(place, container, deps, signal));
    if (failure) failures.set(name, failure);
    deps.tried(place.pod, name, failure);
  };
  const ephemeral = starts.filter(({ role }) => role === 'ephemeral').map(start);
  const others = startInOrder(place.pod, starts, start);
  await allOf([...ephemeral, others]);
  return failures;
}

async function startInOrder(
  { spec }: Pod,
  starts: readonly ContainerStart[],
  start: (one: ContainerStart) => Promise<void>,
): Promise<void> {
  for (const one of starts) if (one.role === 'init' || one.role === 'sidecar') await start(one);
  let gate = Promise.resolve();
  const mains: Promise<void>[] = [];
  for (const one of starts.filter(({ role }) => role === 'main')) {
    const started = gate.then(() => start(one));
    mains.push(started);
    if (containerOf(spec, one.name)?.lifecycle?.postStart) gate = started;
  }
  await allOf(mains);
}

/** Starts one container; why it did not come up is told, and returned. */
async function failureOf(
  place: ContainerPlace,
  container: Container,
  deps: StartAllDeps,
  signal: AbortSignal,
): Promise<PodError | undefined> {
  try {
    leaveInPeace(place, container, deps);
    await startContainer(place, container, deps, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof PodError)) throw error;
    tell(place.pod, container, error, deps);
    return error;
  }
}

/** Throws while a container that keeps ending is in its pause. */
function leaveInPeace({ pod, observed }: ContainerPlace, container: Container, { backoff, clock }: StartAllDeps): void {
  const endedMs = lastEnd(container.name, observed);
  if (endedMs === undefined) return;
  const key = `${pod.metadata.uid}/${container.name}/${containerHash(container)}`;
  const pause = backoff.pause(key, endedMs, clock);
  if (!pause) {
    backoff.started(key, endedMs, clock);
    return;
  }
  const message = `back-off ${formatDurationMs(pause.delayMs)} restarting failed container=${container.name} pod=${formatPod(pod)}`;
  const eventMessage = `Back-off restarting failed container ${container.name} in pod ${formatPod(pod)}`;
  throw new PodError('CrashLoopBackOff', message, { eventMessage, retryAfterMs: pause.leftMs });
}

/**
 * When the container last came to nothing: it ended, or was made and could not be started. One that was killed just now
 * is still seen running: then the one before it counts, as with kubelet.
 */
function lastEnd(name: string, observed: ObservedPod | undefined): number | undefined {
  for (const seen of observed?.containers ?? []) {
    if (seen.name !== name) continue;
    if (seen.state === 'exited') return Number(seen.finishedAt / 1_000_000n);
    if (seen.state === 'created') return Number(seen.createdAt / 1_000_000n);
  }
  return undefined;
}

function tell(pod: Pod, container: Container, error: PodError, { events }: StartAllDeps): void {
  if (error.silent) return;
  const { type, reason, message } = eventOf(error);
  events.record(pod, type, reason, message, containerFieldPath(pod, container.name));
}
