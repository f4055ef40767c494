import type { Pod } from '../../api/generated/core-v1.ts';
import { networkTrouble } from '../observe/network-ready.ts';
import { newestContainer, type ObservedPod, runningContainers } from '../observe/observed-pod.ts';
import type { ObservedPods } from '../observe/observed-pods.ts';
import type { Probes } from '../probes/probes.ts';
import { isTerminal } from '../status/pod-phase.ts';
import type { PodEnding, PodSyncer, SyncOutcome } from '../workers/pod-syncer.ts';
import { activeTimeLeft, DEADLINE_EXCEEDED } from './active-deadline.ts';
import { allOf } from './all-of.ts';
import { computePodActions } from './compute-pod-actions.ts';
import { type ExecuteDeps, executePodPlan, type StartFailures } from './execute-pod-plan.ts';
import { eventOf, PodError } from './pod-error.ts';
import type { PodPlan } from './pod-plan.ts';
import type { PodStatusPublisher } from './pod-status-publisher.ts';
import type { PodStep } from './pod-step.ts';
import { removePod, stopPod } from './stop-pod.ts';

/** kubelet's backOffOnTransientErrorPeriod: a network that comes up is worth another look soon. */
const NETWORK_RETRY_MS = 1_000;

/** Of a pod that never restarts: some of its containers have run, and the others can run no more. */
const LOST_SANDBOX = {
  phase: 'Failed',
  reason: 'SandboxLost',
  message: 'The sandbox of the pod was lost before all of its containers had run, and the pod never restarts.',
} as const;

export interface PodSyncerDeps extends Omit<ExecuteDeps, 'refresh'> {
  readonly observed: ObservedPods;
  readonly probes: Probes;
  readonly publisher: PodStatusPublisher;
  /** In the order in which a starting pod goes through them. */
  readonly steps: readonly PodStep[];
}

/** One pass of a worker over its pod: look, decide, act, look again, tell. */
export function createPodSyncer(deps: PodSyncerDeps): PodSyncer {
  return new Syncer(deps);
}

class Syncer implements PodSyncer {
  readonly #deps: PodSyncerDeps;
  /** The version of each pod whose steps were prepared in this life of the agent. */
  readonly #prepared = new Map<string, Pod>();

  constructor(deps: PodSyncerDeps) {
    this.#deps = deps;
  }

  async sync(pod: Pod, signal: AbortSignal): Promise<SyncOutcome> {
    const { publisher, observed, probes } = this.#deps;
    const { uid } = pod.metadata;
    await observed.known(uid, signal);
    const status = publisher.publish(pod, 'syncing');
    if (isTerminal(status.phase)) return { kind: 'ended' };
    const activeMs = activeTimeLeft(pod, status, this.#deps.clock.now());
    if (activeMs !== undefined && activeMs <= 0) return this.#endOverdue(pod);

    probes.follow(pod, observed.get(uid));
    const plan = computePodActions(this.#view(pod));
    if (plan.kind === 'newSandbox' && !pod.spec.hostNetwork) await this.#needNetwork(pod, signal);
    const isFresh = await this.#prepare(pod, plan, signal);
    const failures = await this.#execute(pod, plan, signal);
    if (isTerminal(publisher.publish(pod, 'syncing').phase)) return { kind: 'ended' };
    if (plan.kind === 'end') return { kind: 'ended', verdict: LOST_SANDBOX };
    return outcomeOf(failures, isFresh, activeMs);
  }

  async terminate(pod: Pod, { graceSeconds, verdict }: PodEnding, signal: AbortSignal): Promise<void> {
    const { observed, probes, publisher } = this.#deps;
    const { uid } = pod.metadata;
    probes.terminating(pod);
    publisher.publish(pod, 'terminating', verdict);
    await stopPod(pod, await observed.refresh(uid, signal), graceSeconds, this.#deps, signal);
    const left = runningContainers(await observed.refresh(uid, signal));
    if (left.length > 0) throw new Error(`containers still run: ${left.map(({ name }) => name).join(', ')}`);
    probes.forget(uid);
    publisher.publish(pod, 'terminating', verdict);
  }

  async release(pod: Pod, signal: AbortSignal): Promise<void> {
    for (const step of this.#deps.steps.toReversed()) await step.release(pod, signal);
    this.#prepared.delete(pod.metadata.uid);
    this.#deps.publisher.publish(pod, 'terminated');
  }

  async purge(pod: Pod, signal: AbortSignal): Promise<void> {
    const { observed, publisher, backoff, timeline } = this.#deps;
    const { uid } = pod.metadata;
    // Nothing of it runs: what the runtime remembers and what is on disk go side by side.
    await allOf([removePod(pod, observed.get(uid), this.#deps, signal), this.#purgeSteps(pod, signal)]);
    // Also what nobody knew of has to go; the next attempt knows it.
    if (await observed.refresh(uid, signal)) throw new Error('the runtime still has something of the pod');
    backoff.forget(`${uid}/`);
    publisher.forget(uid);
    timeline.forget(uid);
  }

  async #purgeSteps(pod: Pod, signal: AbortSignal): Promise<void> {
    for (const step of this.#deps.steps.toReversed()) await step.purge?.(pod, signal);
  }

  #endOverdue(pod: Pod): SyncOutcome {
    this.#deps.events.record(pod, 'Normal', DEADLINE_EXCEEDED.reason, DEADLINE_EXCEEDED.message);
    return { kind: 'ended', verdict: DEADLINE_EXCEEDED };
  }

  /** A pod with a network of its own waits until the runtime can give it one. */
  async #needNetwork(pod: Pod, signal: AbortSignal): Promise<void> {
    const trouble = await networkTrouble(this.#deps.runtime, signal);
    if (trouble === undefined) return;
    const message = `network is not ready: ${trouble}`;
    await this.#telling(pod, async () => {
      throw new PodError('NetworkNotReady', message, { retryAfterMs: NETWORK_RETRY_MS });
    });
  }

  #view(pod: Pod): Parameters<typeof computePodActions>[0] {
    const { observed, probes } = this.#deps;
    const seen = observed.get(pod.metadata.uid);
    return { spec: pod.spec, sandboxes: seen?.sandboxes ?? [], containers: newestOf(pod, seen), probes };
  }

  /** Whether everything around the containers is as of now; a first preparation that fails rejects. */
  async #prepare(pod: Pod, plan: PodPlan, signal: AbortSignal): Promise<boolean> {
    const { uid } = pod.metadata;
    if (this.#prepared.get(uid) === pod && plan.kind !== 'newSandbox') return this.#refresh(pod, signal);
    for (const step of this.#deps.steps) {
      await this.#telling(pod, () =>
        this.#deps.timeline.during(uid, step.name, undefined, () => step.prepare(pod, signal)),
      );
    }
    this.#prepared.set(uid, pod);
    return true;
  }

  /** Containers that run keep what they have: a step that cannot be brought up to date is told of, and tried again. */
  async #refresh(pod: Pod, signal: AbortSignal): Promise<boolean> {
    let isFresh = true;
    for (const step of this.#deps.steps) {
      try {
        await this.#telling(pod, async () => step.refresh?.(pod, signal));
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof PodError)) throw error;
        isFresh = false;
      }
    }
    return isFresh;
  }

  async #execute(pod: Pod, plan: PodPlan, signal: AbortSignal): Promise<StartFailures> {
    const { observed, probes, publisher } = this.#deps;
    const { uid } = pod.metadata;
    if (plan.kind === 'adjust' && plan.kill.length + plan.start.length === 0) return new Map();
    const refresh = (id: string, until: AbortSignal): Promise<ObservedPod | undefined> => observed.refresh(id, until);
    try {
      const work = (): Promise<StartFailures> =>
        executePodPlan(pod, plan, observed.get(uid), { ...this.#deps, refresh }, signal);
      const failures = await this.#telling(pod, work);
      publisher.note(uid, plan.kind === 'end' ? [] : plan.start.map(({ name }) => name), failures);
      return failures;
    } finally {
      // Also after a failure half-way: what it left is to be seen.
      if (!signal.aborted) probes.follow(pod, await observed.refresh(uid, signal));
    }
  }

  /** Lets the pod's own event tell of a failure that concerns all of it. */
  async #telling<T>(pod: Pod, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof PodError && !error.silent) {
        const { type, reason, message } = eventOf(error);
        this.#deps.events.record(pod, type, reason, message);
      }
      throw error;
    }
  }
}

function newestOf(
  pod: Pod,
  seen: ObservedPod | undefined,
): Map<string, NonNullable<ReturnType<typeof newestContainer>>> {
  const names = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(({ name }) => name);
  return new Map(
    names.flatMap((name) => {
      const newest = newestContainer(seen, name);
      return newest ? [[name, newest] as const] : [];
    }),
  );
}

/** Looks again as soon as the first pause ends; what failed without a pause is tried again in the worker's own time. */
function outcomeOf(failures: StartFailures, isFresh: boolean, activeMs: number | undefined): SyncOutcome {
  const all = [...failures.values()];
  const pauses = all.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
  const waits = activeMs === undefined ? pauses : [...pauses, activeMs];
  return {
    kind: 'settled',
    ...(waits.length > 0 && { lookAgainInMs: Math.min(...waits) }),
    ...((all.length > pauses.length || !isFresh) && { failed: true }),
  };
}
