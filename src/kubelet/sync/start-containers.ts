import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { formatPod } from '../../api/pod-names.ts';
import { formatDurationMs } from '../../base/duration.ts';
import type { Clock } from '../../host/clock.ts';
import { containerFieldPath } from '../pod/container-field-path.ts';
import { findContainer } from '../pod/find-container.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import { PodError, podErrorEvent } from '../pod/pod-error.ts';
import { containerHash } from './config/container-hash.ts';
import type { CrashBackoff } from './crash-backoff.ts';
import type { ContainerStart } from './pod-plan.ts';
import { startChannel } from './start-channel.ts';
import { type ContainerStartContext, type StartDeps, startContainer } from './start-container.ts';
import { waitForAll } from './wait-for-all.ts';

export interface StartAllDeps extends StartDeps {
  readonly clock: Clock;
  readonly backoff: CrashBackoff;
  /** Called for each container as soon as it has started or failed, while others are still starting. */
  readonly onStartAttempt: (pod: Pod, name: string, failure: PodError | undefined) => void;
}

/** Containers that did not start, by name. */
export type StartFailures = ReadonlyMap<string, PodError>;

/**
 * Starts containers concurrently where the order does not matter. Init containers and sidecars start one after the
 * other, then the main containers together. Main containers after one with a `postStart` hook wait for that hook: users
 * rely on this order. Ephemeral containers start at once. A failed start does not prevent the others. Settles when all
 * have.
 */
export async function startContainers(
  context: ContainerStartContext,
  starts: readonly ContainerStart[],
  deps: StartAllDeps,
  signal: AbortSignal,
): Promise<StartFailures> {
  const failures = new Map<string, PodError>();
  const start = async ({ name }: ContainerStart): Promise<void> => {
    signal.throwIfAborted();
    const container = findContainer(context.pod.spec, name);
    const failure = container && (await tryStart(context, container, deps, signal));
    if (failure) failures.set(name, failure);
    deps.onStartAttempt(context.pod, name, failure);
  };
  const ephemeral = starts.filter(({ role }) => role === 'ephemeral').map(start);
  const others = startInOrder(context.pod, starts, start);
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

/** Starts one container. Records an event for a pod error and returns it. */
async function tryStart(
  context: ContainerStartContext,
  container: Container,
  deps: StartAllDeps,
  signal: AbortSignal,
): Promise<PodError | undefined> {
  try {
    checkCrashBackoff(context, container, deps);
  } catch (error) {
    if (!(error instanceof PodError)) throw error;
    recordErrorEvent(context.pod, container, error, deps);
    return error;
  }
  const of = { pod: context.pod, container: container.name };
  startChannel.publish({ kind: 'containerStarting', ...of });
  try {
    await startContainer(context, container, deps, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof PodError)) throw error;
    startChannel.publish({ kind: 'containerFailed', ...of, code: error.reason });
    recordErrorEvent(context.pod, container, error, deps);
    return error;
  }
}

/** Throws while the container is in crash back-off; otherwise records the restart. */
function checkCrashBackoff(
  { pod, observed }: ContainerStartContext,
  container: Container,
  { backoff, clock }: StartAllDeps,
): void {
  const exitedMs = lastExitMs(container.name, observed);
  if (exitedMs === undefined) return;
  const key = `${pod.metadata.uid}/${container.name}/${containerHash(container)}`;
  const remaining = backoff.remaining(key, exitedMs, clock);
  if (!remaining) {
    backoff.recordRestart(key, exitedMs, clock);
    return;
  }
  const message = `back-off ${formatDurationMs(remaining.delayMs)} restarting failed container=${container.name} pod=${formatPod(pod)}`;
  const eventMessage = `Back-off restarting failed container ${container.name} in pod ${formatPod(pod)}`;
  const podCause = { kind: 'crashBackoff', delayMs: remaining.delayMs } as const;
  throw new PodError('CrashLoopBackOff', message, { eventMessage, retryAfterMs: remaining.leftMs, podCause });
}

/**
 * When the container last exited, or was created and could not be started. A container that was just killed is still
 * observed as running: then the instance before it counts, as in kubelet.
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
