import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { formatPod } from '../../api/pod-names.ts';
import { formatDurationMs } from '../../base/duration.ts';
import type { Clock } from '../../host/clock.ts';
import { containerFieldPath } from '../pod/container-field-path.ts';
import { findContainer } from '../pod/find-container.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import { podErrorEvent, PodError } from '../pod/pod-error.ts';
import { waitForAll } from './wait-for-all.ts';
import { containerHash } from './config/container-hash.ts';
import type { CrashBackoff } from './crash-backoff.ts';
import type { ContainerStart } from './pod-plan.ts';
import { type ContainerStartContext, type StartDeps, startContainer } from './start-container.ts';

export interface StartAllDeps extends StartDeps {
  readonly clock: Clock;
  readonly backoff: CrashBackoff;
  /** Called at once when a container has started or could not, while others may still be on their way. */
  readonly onStartAttempt: (pod: Pod, name: string, failure: PodError | undefined) => void;
}

/** What did not come up, by container name. */
export type StartFailures = ReadonlyMap<string, PodError>;

/**
 * Starts containers side by side where none depends on another. Init containers and sidecars go one after the other,
 * main ones follow together; those after one with a `postStart` hook wait for its hook, for users rely on that order.
 * Ephemeral ones wait for nobody. A container that cannot start keeps no other from it. Settles when all have.
 */
export async function startContainers(
  place: ContainerStartContext,
  starts: readonly ContainerStart[],
  deps: StartAllDeps,
  signal: AbortSignal,
): Promise<StartFailures> {
  const failures = new Map<string, PodError>();
  const start = async ({ name }: ContainerStart): Promise<void> => {
    signal.throwIfAborted();
    const container = findContainer(place.pod.spec, name);
    const failure = container && (await tryStart(place, container, deps, signal));
    if (failure) failures.set(name, failure);
    deps.onStartAttempt(place.pod, name, failure);
  };
  const ephemeral = starts.filter(({ role }) => role === 'ephemeral').map(start);
  const others = startInOrder(place.pod, starts, start);
  await waitForAll([...ephemeral, others]);
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
    if (findContainer(spec, one.name)?.lifecycle?.postStart) gate = started;
  }
  await waitForAll(mains);
}

/** Starts one container; why it did not come up is told, and returned. */
async function tryStart(
  place: ContainerStartContext,
  container: Container,
  deps: StartAllDeps,
  signal: AbortSignal,
): Promise<PodError | undefined> {
  try {
    checkCrashBackoff(place, container, deps);
    await startContainer(place, container, deps, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof PodError)) throw error;
    recordErrorEvent(place.pod, container, error, deps);
    return error;
  }
}

/** Throws while a container that keeps ending is in its pause. */
function checkCrashBackoff({ pod, observed }: ContainerStartContext, container: Container, { backoff, clock }: StartAllDeps): void {
  const endedMs = lastExitMs(container.name, observed);
  if (endedMs === undefined) return;
  const key = `${pod.metadata.uid}/${container.name}/${containerHash(container)}`;
  const pause = backoff.remaining(key, endedMs, clock);
  if (!pause) {
    backoff.recordRestart(key, endedMs, clock);
    return;
  }
  const message = `back-off ${formatDurationMs(pause.delayMs)} restarting failed container=${container.name} pod=${formatPod(pod)}`;
  const eventMessage = `Back-off restarting failed container ${container.name} in pod ${formatPod(pod)}`;
  const podCause = { kind: 'crashBackoff', delayMs: pause.delayMs } as const;
  throw new PodError('CrashLoopBackOff', message, { eventMessage, retryAfterMs: pause.leftMs, podCause });
}

/**
 * When the container last came to nothing: it ended, or was made and could not be started. One that was killed just now
 * is still seen running: then the one before it counts, as with kubelet.
 */
function lastExitMs(name: string, observed: ObservedPod | undefined): number | undefined {
  for (const seen of observed?.containers ?? []) {
    if (seen.name !== name) continue;
    if (seen.state === 'exited') return Number(seen.finishedAt / 1_000_000n);
    if (seen.state === 'created') return Number(seen.createdAt / 1_000_000n);
  }
  return undefined;
}

function recordErrorEvent(pod: Pod, container: Container, error: PodError, { events }: StartAllDeps): void {
  if (error.silent) return;
  const { type, reason, message, cause } = podErrorEvent(error);
  events.record(pod, type, reason, message, containerFieldPath(pod, container.name), cause);
}
