import { allContainers } from '../../api/all-containers.ts';
import type { Pod } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import { networkNotReadyReason } from '../pleg/network-ready.ts';
import type { ObservedPods } from '../pleg/observed-pods.ts';
import { activeTimeLeft, DEADLINE_EXCEEDED } from '../pod/active-deadline.ts';
import { type ObservedPod, runningContainers } from '../pod/observed-pod.ts';
import { podErrorEvent, PodError } from '../pod/pod-error.ts';
import type { PodStep } from '../pod/pod-step.ts';
import type { Probes } from '../probes/probes.ts';
import { resizeView } from '../resources/resize-view.ts';
import { isTerminal } from '../status/pod-phase.ts';
import { isRestartingAll } from '../status/restart-of-all.ts';
import type { KillPodOptions, PodSyncer, SyncOutcome } from '../workers/pod-syncer.ts';
import { waitForAll } from './wait-for-all.ts';
import { computePodActions } from './compute-pod-actions.ts';
import { type ExecuteDeps, executePodPlan } from './execute-pod-plan.ts';
import type { PodPlan } from './pod-plan.ts';
import type { PodStatusPublisher } from './pod-status-publisher.ts';
import type { PodView } from './pod-view.ts';
import { removePod } from './remove-containers.ts';
import type { StartFailures } from './start-containers.ts';
import { StartProgress } from './start-progress.ts';
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

export interface ObservingPodSyncer extends PodSyncer {
  /** Something about a pod was seen that its worker may be too busy to look at. */
  onPodObserved(uid: string): void;
}

/** One pass of a worker over its pod: look, decide, act, look again, tell. */
export function createPodSyncer(deps: PodSyncerDeps): ObservingPodSyncer {
  return new Syncer(deps);
}

class Syncer implements ObservingPodSyncer {
  readonly #deps: PodSyncerDeps;
  readonly #startProgress: StartProgress;
  /** The version of each pod whose steps were prepared in this life of the agent. */
  readonly #prepared = new Map<string, Pod>();

  constructor(deps: PodSyncerDeps) {
    this.#deps = deps;
    this.#startProgress = new StartProgress(deps);
  }

  onPodObserved(uid: string): void {
    this.#startProgress.onPodObserved(uid);
  }

  async sync(pod: Pod, signal: AbortSignal): Promise<SyncOutcome> {
    const { publisher, observed, probes, resizes } = this.#deps;
    const { uid } = pod.metadata;
    await observed.getCurrent(uid, signal);
    resizes.look(pod, observed.get(uid));
    const status = publisher.publish(pod, 'syncing');
    if (isTerminal(status.phase)) return { kind: 'ended' };
    const activeMs = activeTimeLeft(pod, status, this.#deps.clock.now());
    if (activeMs !== undefined && activeMs <= 0) return this.#endAfterDeadline(pod);

    probes.follow(pod, observed.get(uid));
    const plan = computePodActions(this.#view(pod, isRestartingAll(status)));
    if (plan.kind === 'newSandbox' && !pod.spec.hostNetwork) await this.#requireNetwork(pod, signal);
    const isFresh = await this.#prepare(pod, plan, signal);
    const failures = await this.#execute(pod, plan, signal);
    resizes.look(pod, observed.get(uid));
    if (isTerminal(publisher.publish(pod, 'syncing').phase)) return { kind: 'ended' };
    if (plan.kind === 'end') return { kind: 'ended', failure: LOST_SANDBOX };
    return syncOutcome(failures, isFresh, activeMs);
  }

  async terminate(pod: Pod, { graceSeconds, failure: verdict }: KillPodOptions, signal: AbortSignal): Promise<void> {
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
      this.#deps.events.record(pod, 'Warning', 'FailedKillPod', `error killing pod: ${formatKillErrors(error)}`);
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
    await waitForAll([removePod(pod, observed.get(uid), this.#deps, signal), this.#purgeSteps(pod, signal)]);
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

  #endAfterDeadline(pod: Pod): SyncOutcome {
    this.#deps.events.record(pod, 'Normal', DEADLINE_EXCEEDED.reason, DEADLINE_EXCEEDED.message);
    return { kind: 'ended', failure: DEADLINE_EXCEEDED };
  }

  /** A pod with a network of its own waits until the runtime can give it one. */
  async #requireNetwork(pod: Pod, signal: AbortSignal): Promise<void> {
    const trouble = await networkNotReadyReason(this.#deps.runtime, signal);
    if (trouble === undefined) return;
    const message = `network is not ready: ${trouble}`;
    await this.#withErrorEvent(pod, async () => {
      const podCause = { kind: 'networkNotReady' } as const;
      throw new PodError('NetworkNotReady', message, { retryAfterMs: NETWORK_RETRY_MS, podCause });
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
      ...observedContainers(pod, seen),
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
      await this.#withErrorEvent(pod, () => (name ? this.#deps.timeline.during(uid, name, undefined, work) : work()));
    }
    this.#prepared.set(uid, pod);
    return !this.#deps.steps.some((step) => step.isStale?.(uid));
  }

  /** Containers that run keep what they have: a step that cannot be brought up to date is told of, and tried again. */
  async #refresh(pod: Pod, signal: AbortSignal): Promise<boolean> {
    let isFresh = true;
    for (const step of this.#deps.steps) {
      try {
        await this.#withErrorEvent(pod, async () => step.refresh?.(pod, signal));
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
    const tried: ExecuteDeps['onStartAttempt'] = (...start) => this.#startProgress.onStartAttempt(...start);
    const started: ExecuteDeps['started'] = async (of, name, ...log) => {
      await this.#deps.started(of, name, ...log);
      await this.#startProgress.onContainerRunning(of, name, signal);
    };
    this.#startProgress.begin(pod, plan, signal);
    try {
      const deps = { ...this.#deps, refresh, started, tried };
      return await this.#withErrorEvent(pod, () => executePodPlan(pod, plan, observed.get(uid), deps, signal));
    } catch (error) {
      if (!signal.aborted) this.#deps.publisher.publishInterim(pod, observed.get(uid));
      throw error;
    } finally {
      this.#startProgress.end(uid);
      // Also after a failure half-way: what it left is to be seen.
      if (!signal.aborted) probes.follow(pod, await observed.refresh(uid, signal));
    }
  }

  /** Lets the pod's own event tell of a failure that concerns all of it. */
  async #withErrorEvent<T>(pod: Pod, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof PodError && !error.silent) {
        const { type, reason, message, cause } = podErrorEvent(error);
        this.#deps.events.record(pod, type, reason, message, undefined, cause);
      }
      throw error;
    }
  }
}

/** The newest container under each name of the spec, and those before them. */
function observedContainers({ spec }: Pod, seen: ObservedPod | undefined): Pick<PodView, 'containers' | 'older'> {
  const names = new Set(allContainers(spec).map(({ name }) => name));
  const known = seen?.containers.filter(({ name }) => names.has(name)) ?? [];
  const newest = new Map(known.toReversed().map((each) => [each.name, each]));
  return { containers: newest, older: known.filter((each) => newest.get(each.name) !== each) };
}

/** As Go prints one error, or several. */
function formatKillErrors(error: unknown): string {
  return error instanceof AggregateError ? `[${error.errors.map(formatKillErrors).join(', ')}]` : errorText(error);
}

/** Looks again as soon as the first pause ends; what failed without a pause is tried again in the worker's own time. */
function syncOutcome(failures: StartFailures, isFresh: boolean, activeMs: number | undefined): SyncOutcome {
  const all = [...failures.values()];
  const pauses = all.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
  const waits = activeMs === undefined ? pauses : [...pauses, activeMs];
  return {
    kind: 'settled',
    ...(waits.length > 0 && { resyncAfterMs: Math.min(...waits) }),
    ...((all.length > pauses.length || !isFresh) && { failed: true }),
  };
}
