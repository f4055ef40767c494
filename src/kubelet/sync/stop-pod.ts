import type { Pod } from '../../api/generated/core-v1.ts';
import { goQuote } from '../../base/go/go-quote.ts';
import { CriError, rpcErrorText } from '../../cri/cri-error.ts';
import { ignoreNotFound } from '../../cri/ignore-not-found.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import type { PodEvents } from '../events/pod-events.ts';
import type { Timeline } from '../events/timeline.ts';
import { runPreStopThen } from '../hooks/pre-stop.ts';
import type { HookDeps } from '../hooks/run-hook.ts';
import { containerFieldPath } from '../pod/container-field-path.ts';
import type { ObservedContainer, ObservedPod } from '../pod/observed-pod.ts';
import type { KillCause } from '../pod/pod-cause.ts';
import { PodError } from '../pod/pod-error.ts';
import { isSidecar } from '../pod/restart-rules.ts';
import { waitForAll } from './wait-for-all.ts';

/** kubelet's minimumGracePeriodInSeconds. */
const MINIMUM_GRACE_SECONDS = 2;

export interface StopDeps {
  readonly runtime: RuntimeService;
  readonly timeline: Timeline;
  readonly events: PodEvents;
  readonly clock: Clock;
  readonly hooks: HookDeps;
}

/** The order in which the containers of a pod stop. */
export interface StopOrder {
  /** Stopped at once, and no other container waits for them: init, ephemeral and unknown containers. */
  readonly unordered: readonly ObservedContainer[];
  /**
   * Groups that stop one after the other. Main containers stop first, then the sidecars in reverse order, so that a
   * container never outlives the sidecars that started before it.
   */
  readonly ordered: readonly (readonly ObservedContainer[])[];
}

export function stopOrder({ spec }: Pod, containers: readonly ObservedContainer[]): StopOrder {
  const sidecars = (spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name);
  const groups = [spec.containers.map(({ name }) => name), ...sidecars.toReversed().map((name) => [name])];
  const named = new Set(groups.flat());
  return {
    unordered: containers.filter(({ name }) => !named.has(name)),
    ordered: groups
      .map((names) => containers.filter(({ name }) => names.includes(name)))
      .filter((group) => group.length > 0),
  };
}

/**
 * Stops every live container of a pod within the grace period, then its sandboxes. Idempotent. A sandbox is not stopped
 * while a container in it could not be stopped: that would kill the container without grace.
 */
export async function stopPod(
  pod: Pod,
  observed: ObservedPod | undefined,
  graceSeconds: number,
  deps: StopDeps,
  signal: AbortSignal,
): Promise<void> {
  if (!observed) return;
  const live = observed.containers.filter(({ state }) => state === 'running' || state === 'unknown');
  const { unordered, ordered } = stopOrder(pod, live);
  const stop = (each: ObservedContainer, turn?: Promise<void>): Promise<void> =>
    stopContainer(
      pod,
      each,
      { message: `Stopping container ${each.name}`, cause: 'podStopping', graceSeconds, turn },
      deps,
      signal,
    );
  const stops = unordered.map((each) => stop(each));
  let turn: Promise<void> | undefined;
  for (const group of ordered) {
    const before = turn;
    const these = group.map((each) => stop(each, before));
    stops.push(...these);
    turn = waitForAll(these);
    turn.catch(() => undefined); // thrown by the stop that failed
  }
  await waitForAll(stops);
  const ready = observed.sandboxes.filter((sandbox) => sandbox.ready);
  await waitForAll(ready.map(({ id }) => stopSandbox(pod, id, deps, signal)));
}

export interface StopOptions {
  /** The text of the `Killing` event. */
  readonly message: string;
  readonly cause: KillCause;
  /** For the whole stop: the preStop hook and waiting for `turn` count against it. */
  readonly graceSeconds: number;
  /** The container keeps running until this resolves, but no longer than its grace period. */
  readonly turn?: Promise<void> | undefined;
}

/** Stops one container. Succeeds when it is gone. Rejects with a `PodError`. */
export async function stopContainer(
  pod: Pod,
  container: Pick<ObservedContainer, 'id' | 'name'>,
  { message, cause, graceSeconds, turn }: StopOptions,
  deps: StopDeps,
  signal: AbortSignal,
): Promise<void> {
  const { runtime, timeline, events, clock } = deps;
  const endsAt = clock.monotonic() + graceSeconds * 1000;
  const fieldPath = containerFieldPath(pod, container.name);
  events.record(pod, 'Normal', 'Killing', message, fieldPath, { kind: 'kill', cause });
  const { id, name } = container;
  const stop = async (): Promise<void> => {
    if (turn !== undefined) await waitAtMost(turn, endsAt - clock.monotonic(), clock, signal);
    const left = Math.ceil((endsAt - clock.monotonic()) / 1000);
    const timeout = BigInt(Math.max(MINIMUM_GRACE_SECONDS, left));
    await timeline.during(pod.metadata.uid, 'stop container', name, () =>
      asKillError('KillContainer', name, runtime.stopContainer({ containerId: id, timeout }, signal), signal),
    );
  };
  await runPreStopThen({ pod, id, name, graceSeconds }, deps, stop, signal);
}

/** Waits for `turn`, at most `ms`. A rejected `turn` waits for the whole time. */
async function waitAtMost(turn: Promise<void>, ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  const waiting = new AbortController();
  const timeout = clock.sleep(ms, AbortSignal.any([waiting.signal, signal])).catch(() => signal.throwIfAborted());
  try {
    await Promise.race([turn.catch(() => timeout), timeout]);
  } finally {
    waiting.abort();
  }
}

async function stopSandbox(pod: Pod, id: string, { runtime, timeline }: StopDeps, signal: AbortSignal): Promise<void> {
  const { uid } = pod.metadata;
  await timeline.during(uid, 'stop sandbox', undefined, () =>
    asKillError('KillPodSandbox', uid, runtime.stopPodSandbox({ podSandboxId: id }, signal), signal),
  );
}

/** Converts a CRI error to kubelet's kill error. The caller records the event. */
async function asKillError(
  action: 'KillContainer' | 'KillPodSandbox',
  target: string,
  call: Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await ignoreNotFound(call);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof CriError)) throw error;
    const reason = `${action}Error` as const;
    const message = `failed to "${action}" for "${target}" with ${reason}: ${goQuote(rpcErrorText(error))}`;
    throw new PodError(reason, message, { cause: error, silent: true });
  }
}
