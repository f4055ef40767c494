import { allContainers } from '../../api/all-containers.ts';
import type { Pod } from '../../api/generated/core-v1.ts';
import { textOf } from '../../base/text-of.ts';
import { networkTrouble } from '../pleg/network-ready.ts';
import type { ObservedPods } from '../pleg/observed-pods.ts';
import { activeTimeLeft, DEADLINE_EXCEEDED } from '../pod/active-deadline.ts';
import { type ObservedPod, runningContainers } from '../pod/observed-pod.ts';
import { eventOf, PodError } from '../pod/pod-error.ts';
import type { PodStep } from '../pod/pod-step.ts';
import type { Probes } from '../probes/probes.ts';
import { resizeView } from '../resources/resize-view.ts';
import { isTerminal } from '../status/pod-phase.ts';
import { isRestartingAll } from '../status/restart-of-all.ts';
import type { PodEnding, PodSyncer, SyncOutcome } from '../workers/pod-syncer.ts';
import { allOf } from './all-of.ts';
import { computePodActions } from './compute-pod-actions.ts';
import { type ExecuteDeps, executePodPlan } from './execute-pod-plan.ts';
import type { PodPlan } from './pod-plan.ts';
import type { PodStatusPublisher } from './pod-status-publisher.ts';
import type { PodView } from './pod-view.ts';
import { removePod } from './remove-containers.ts';
import type { StartFailures } from './start-containers.ts';
import { StartingPods } from './starting-pods.ts';
import { stopPod } from './stop-pod.ts';

/** kubelet's backOffOnTransientErrorPeriod: a network that comes up is worth another look soon. */
const NETWORK_RETRY_MS = 1_000;

/** Of a pod that never restarts: some of its containers have run, and the others can run no more. */
const LOST_SANDBOX = {
  phase: 'Failed',
  reason: 'SandboxLost',
  message: 'The sandbox of the pod was lost before all of its containers had run, and the pod never restarts.',
} as const;

export interface PodSyncerDeps extends Omit<ExecuteDeps, 'refresh' | 'tried'> {
  readonly observed: ObservedPods;
  readonly probes: Probes;
  readonly publisher: PodStatusPublisher;
  /** In the order in which a starting pod goes through them. */
  readonly steps: readonly PodStep[];
}

export interface AttentivePodSyncer extends PodSyncer {
  /** Something about a pod was seen that its worker may be too busy to look at. */
  seen(uid: string): void;
}

/** One pass of a worker over its pod: look, decide, act, look again, tell. */
export function createPodSyncer(deps: PodSyncerDeps): AttentivePodSyncer {
  return new Syncer(deps);
}

class Syncer implements AttentivePodSyncer {
  readonly #deps: PodSyncerDeps;
  readonly #starting: StartingPods;
  /** The version of each pod whose steps were prepared in this life of the agent. */
  readonly #prepared = new Map<string, Pod>();

  constructor(deps: PodSyncerDeps) {
    this.#deps = deps;
    this.#starting = new StartingPods(deps);
  }

  seen(uid: string): void {
    this.#starting.seen(uid);
  }

  async sync(pod: Pod, signal: AbortSignal): Promise<SyncOutcome> {
    const { publisher, observed, probes, resizes } = this.#deps;
    const { uid } = pod.metadata;
    await observed.known(uid, signal);
    resizes.look(pod, observed.get(uid));
    const status = publisher.publish(pod, 'syncing');
    if (isTerminal(status.phase)) return { kind: 'ended' };
    const activeMs = activeTimeLeft(pod, status, this.#deps.clock.now());
    if (activeMs !== undefined && activeMs <= 0) return this.#endOverdue(pod);

    probes.follow(pod, observed.get(uid));
    const plan = computePodActions(this.#view(pod, isRestartingAll(status)));
    if (plan.kind === 'newSandbox' && !pod.spec.hostNetwork) await this.#needNetwork(pod, signal);
    const isFresh = await this.#prepare(pod, plan, signal);
    const failures = await this.#execute(pod, plan, signal);
    resizes.look(pod, observed.get(uid));
    if (isTerminal(publisher.publish(pod, 'syncing').phase)) return { kind: 'ended' };
    if (plan.kind === 'end') return { kind: 'ended', verdict: LOST_SANDBOX };
    return outcomeOf(failures, isFresh, activeMs);
  }

  async terminate(pod: Pod, { graceSeconds, verdict }: PodEnding, signal: AbortSignal): Promise<void> {
    const { observed, probes, publisher } = this.#deps;
    const { uid } = pod.metadata;
    probes.terminating(pod);
    publisher.publish(pod, 'terminating', verdict);
    await this.#stop(pod, await observed.refresh(uid, signal), graceSeconds, signal);
    const left = runningContainers(await observed.refresh(uid, signal));
    if (left.length > 0) throw new Error(`containers still run: ${left.map(({ name }) => name).join(', ')}`);
    probes.forget(uid);
    publisher.publish(pod, 'terminating', verdict);
  }

  async #stop(pod: Pod, seen: ObservedPod | undefined, graceSeconds: number, signal: AbortSignal): Promise<void> {
    try {
      await stopPod(pod, seen, graceSeconds, this.#deps, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#deps.events.record(pod, 'Warning', 'FailedKillPod', `error killing pod: ${goTextOf(error)}`);
      throw error;
    }
  }

  async release(pod: Pod, signal: AbortSignal): Promise<void> {
    for (const step of this.#deps.steps.toReversed()) await step.release(pod, signal);
    this.#prepared.delete(pod.metadata.uid);
    this.#deps.publisher.publish(pod, 'terminated');
  }

  async purge(pod: Pod, signal: AbortSignal): Promise<void> {
    const { observed, publisher, backoff } = this.#deps;
    const { uid } = pod.metadata;
    // Nothing of it runs: what the runtime remembers and what is on disk go side by side.
    await allOf([removePod(pod, observed.get(uid), this.#deps, signal), this.#purgeSteps(pod, signal)]);
    // Also what nobody knew of has to go; the next attempt knows it.
    if (await observed.refresh(uid, signal)) throw new Error('the runtime still has something of the pod');
    backoff.forget(`${uid}/`);
    publisher.forget(uid);
    this.restart(pod);
  }

  restart({ metadata: { uid } }: Pod): void {
    const { publisher, timeline, resizes } = this.#deps;
    publisher.forgetEnd(uid);
    resizes.ended(uid);
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

  #view(pod: Pod, restartsAll: boolean): PodView {
    const { observed, probes, records } = this.#deps;
    const { uid } = pod.metadata;
    const seen = observed.get(uid);
    const resize = resizeView(pod, records.actuated(uid));
    return {
      spec: pod.spec,
      sandboxes: seen?.sandboxes ?? [],
      ...containersOf(pod, seen),
      restartsAll,
      probes,
      resize,
    };
  }

  /** Whether everything around the containers is as of now; a first preparation that fails rejects. */
  async #prepare(pod: Pod, plan: PodPlan, signal: AbortSignal): Promise<boolean> {
    const { uid } = pod.metadata;
    if (this.#prepared.get(uid) === pod && plan.kind !== 'newSandbox') return this.#refresh(pod, signal);
    for (const step of this.#deps.steps) {
      const { name } = step;
      const work = (): Promise<void> => step.prepare(pod, signal);
      await this.#telling(pod, () => (name ? this.#deps.timeline.during(uid, name, undefined, work) : work()));
    }
    this.#prepared.set(uid, pod);
    return !this.#deps.steps.some((step) => step.isStale?.(uid));
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
    const { observed, probes } = this.#deps;
    const { uid } = pod.metadata;
    if (plan.kind === 'adjust' && plan.kill.length + plan.start.length === 0 && !plan.resize) return new Map();
    const refresh = (id: string, until: AbortSignal): Promise<ObservedPod | undefined> => observed.refresh(id, until);
    const tried: ExecuteDeps['tried'] = (...start) => this.#starting.tried(...start);
    const started: ExecuteDeps['started'] = async (of, name, ...log) => {
      await this.#deps.started(of, name, ...log);
      await this.#starting.running(of, name, signal);
    };
    this.#starting.begin(pod, plan, signal);
    try {
      const deps = { ...this.#deps, refresh, started, tried };
      return await this.#telling(pod, () => executePodPlan(pod, plan, observed.get(uid), deps, signal));
    } catch (error) {
      if (!signal.aborted) this.#deps.publisher.publishMeanwhile(pod, observed.get(uid));
      throw error;
    } finally {
      this.#starting.end(uid);
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

/** The newest container under each name of the spec, and those before them. */
function containersOf({ spec }: Pod, seen: ObservedPod | undefined): Pick<PodView, 'containers' | 'older'> {
  const names = new Set(allContainers(spec).map(({ name }) => name));
  const known = seen?.containers.filter(({ name }) => names.has(name)) ?? [];
  const newest = new Map(known.toReversed().map((each) => [each.name, each]));
  return { containers: newest, older: known.filter((each) => newest.get(each.name) !== each) };
}

/** As Go prints one error, or several. */
function goTextOf(error: unknown): string {
  return error instanceof AggregateError ? `[${error.errors.map(goTextOf).join(', ')}]` : textOf(error);
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
