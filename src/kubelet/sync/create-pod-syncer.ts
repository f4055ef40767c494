import { allContainers } from '../../api/all-containers.ts';
import type { Pod } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import type { ObservedPods } from '../pleg/observed-pods.ts';
import { activeTimeLeft, DEADLINE_EXCEEDED } from '../pod/active-deadline.ts';
import { specGracePeriod } from '../pod/grace-period.ts';
import { type ObservedPod, runningContainers } from '../pod/observed-pod.ts';
import { PodError, podErrorEvent } from '../pod/pod-error.ts';
import { rejectedStatusMessage } from '../pod/pod-failure.ts';
import { PodRejectedError } from '../pod/pod-rejected-error.ts';
import type { PodStep } from '../pod/pod-step.ts';
import { rejectionChannel } from '../pod/rejection-channel.ts';
import type { Probes } from '../probes/probes.ts';
import { planResize } from '../resources/resize-plan.ts';
import { isTerminal } from '../status/pod-phase.ts';
import { isRestartingAll } from '../status/restart-all-containers.ts';
import type { KillPodOptions, PodSyncer, SyncOutcome } from '../workers/pod-syncer.ts';
import { computePodActions } from './compute-pod-actions.ts';
import { type ExecuteDeps, executePodPlan } from './execute-pod-plan.ts';
import { hasLostResource } from './has-lost-resource.ts';
import { networkNotReadyReason } from './network-not-ready-reason.ts';
import type { PodPlan } from './pod-plan.ts';
import type { PodStatusPublisher } from './pod-status-publisher.ts';
import type { PodView } from './pod-view.ts';
import { readPodState } from './read-pod-state.ts';
import { removePod } from './remove-containers.ts';
import type { StartFailures } from './start-containers.ts';
import { StartProgress } from './start-progress.ts';
import { stopPod } from './stop-pod.ts';
import { waitForAll } from './wait-for-all.ts';

/** kubelet's backOffOnTransientErrorPeriod: the network is expected to come up soon. */
const NETWORK_RETRY_MS = 1_000;

/** A pod with `restartPolicy: Never` lost its sandbox before all of its containers had run. */
const LOST_SANDBOX = {
  phase: 'Failed',
  reason: 'SandboxLost',
  message: 'The sandbox of the pod was lost before all of its containers had run, and the pod never restarts.',
} as const;

export interface PodSyncerDeps extends Omit<ExecuteDeps, 'refresh' | 'onStartAttempt'> {
  readonly observed: ObservedPods;
  readonly probes: Probes;
  readonly publisher: PodStatusPublisher;
  /** In the order in which a starting pod prepares them. */
  readonly steps: readonly PodStep[];
}

export interface ObservingPodSyncer extends PodSyncer {
  /** Publishes a change of a pod while its worker is busy starting other containers. */
  onPodObserved(uid: string): void;
}

/** Creates the syncer. One sync: observe, plan, execute, observe again, publish the status. */
export function createPodSyncer(deps: PodSyncerDeps): ObservingPodSyncer {
  return new Syncer(deps);
}

class Syncer implements ObservingPodSyncer {
  readonly #deps: PodSyncerDeps;
  readonly #startProgress: StartProgress;
  /** The pod version for which this process prepared the steps, by UID. */
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
    await readPodState(pod, () => observed.getCurrent(uid, signal), this.#deps.events, signal);
    await this.#killIfLost(pod, observed.get(uid), signal);
    resizes.checkProgress(pod, observed.get(uid));
    const status = publisher.publish(pod, 'syncing');
    if (isTerminal(status.phase)) return { kind: 'ended' };
    const activeMs = activeTimeLeft(pod, status, this.#deps.clock.now());
    if (activeMs !== undefined && activeMs <= 0) return this.#endAfterDeadline(pod);

    probes.follow(pod, observed.get(uid));
    const plan = computePodActions(this.#view(pod, isRestartingAll(status)));
    if (plan.kind === 'newSandbox' && !pod.spec.hostNetwork) await this.#requireNetwork(pod, signal);
    let isFresh: boolean;
    try {
      isFresh = await this.#prepare(pod, plan, signal);
    } catch (error) {
      if (error instanceof PodRejectedError) return this.#reject(pod, error);
      throw error;
    }
    const failures = await this.#execute(pod, plan, signal);
    resizes.checkProgress(pod, observed.get(uid));
    if (isTerminal(publisher.publish(pod, 'syncing').phase)) return { kind: 'ended' };
    if (plan.kind === 'end') return { kind: 'ended', failure: LOST_SANDBOX };
    return syncOutcome(failures, isFresh, activeMs);
  }

  /** Kills a running pod whose cgroup is gone; the sync starts it anew. If it cannot be killed now, the sync goes on. */
  async #killIfLost(pod: Pod, seen: ObservedPod | undefined, signal: AbortSignal): Promise<void> {
    const { observed, steps } = this.#deps;
    const { uid } = pod.metadata;
    if (!(await hasLostResource(pod, seen, steps))) return;
    await this.#stop(pod, seen, specGracePeriod(pod), signal).catch(() => signal.throwIfAborted()); // has an event
    this.#prepared.delete(uid);
    await observed.refresh(uid, signal);
  }

  async terminate(pod: Pod, { graceSeconds, failure }: KillPodOptions, signal: AbortSignal): Promise<void> {
    const { observed, probes, publisher } = this.#deps;
    const { uid } = pod.metadata;
    probes.onTerminating(pod);
    publisher.publish(pod, 'terminating', failure);
    const seen = await readPodState(pod, () => observed.refresh(uid, signal), this.#deps.events, signal);
    await this.#stop(pod, seen, graceSeconds, signal);
    const left = runningContainers(await observed.refresh(uid, signal));
    if (left.length > 0) throw new Error(`containers are still running: ${left.map(({ name }) => name).join(', ')}`);
    probes.forget(uid);
    publisher.publish(pod, 'terminating', failure);
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
    // Nothing of the pod runs: runtime and disk are cleaned up concurrently.
    await waitForAll([removePod(pod, observed.get(uid), this.#deps, signal), this.#purgeSteps(pod, signal)]);
    // The pod may have had more in the runtime than was observed; the retry removes it.
    if (await observed.refresh(uid, signal))
      throw new Error('the runtime still lists containers or sandboxes of the pod');
    backoff.forget(`${uid}/`);
    publisher.forget(uid);
    this.restart(pod);
  }

  restart({ metadata: { uid } }: Pod): void {
    const { publisher, timeline, resizes } = this.#deps;
    publisher.forgetEnd(uid);
    resizes.onPodEnded(uid);
    timeline.forget(uid);
  }

  async #purgeSteps(pod: Pod, signal: AbortSignal): Promise<void> {
    for (const step of this.#deps.steps.toReversed()) await step.purge?.(pod, signal);
  }

  #reject(pod: Pod, { reason, message }: PodRejectedError): SyncOutcome {
    rejectionChannel.publish({ reason });
    this.#deps.events.recordFailure(pod, 'Warning', { reason, message });
    return { kind: 'ended', failure: { phase: 'Failed', reason, message: rejectedStatusMessage(message) } };
  }

  #endAfterDeadline(pod: Pod): SyncOutcome {
    this.#deps.events.recordFailure(pod, 'Normal', DEADLINE_EXCEEDED);
    return { kind: 'ended', failure: DEADLINE_EXCEEDED };
  }

  /** Throws while the runtime's network is not ready. */
  async #requireNetwork(pod: Pod, signal: AbortSignal): Promise<void> {
    const reason = await networkNotReadyReason(this.#deps.runtime, signal);
    if (reason === undefined) return;
    const message = `network is not ready: ${reason}`;
    await this.#withErrorEvent(pod, async () => {
      const podCause = { kind: 'networkNotReady' } as const;
      throw new PodError('NetworkNotReady', message, { retryAfterMs: NETWORK_RETRY_MS, podCause });
    });
  }

  #view(pod: Pod, restartsAll: boolean): PodView {
    const { observed, probes, records } = this.#deps;
    const { uid } = pod.metadata;
    const seen = observed.get(uid);
    const resize = planResize(pod, records.actuated(uid));
    return {
      spec: pod.spec,
      sandboxes: seen?.sandboxes ?? [],
      ...observedContainers(pod, seen),
      restartsAll,
      probes,
      resize,
    };
  }

  /**
   * Prepares or refreshes all steps. Resolves to whether all are up to date; rejects when a first preparation fails.
   */
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

  /** Running containers keep their resources: a failed refresh is reported as an event and retried. */
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
    const onStartAttempt: ExecuteDeps['onStartAttempt'] = (...start) => this.#startProgress.onStartAttempt(...start);
    const onContainerStarted: ExecuteDeps['onContainerStarted'] = async (of, name, ...log) => {
      await this.#deps.onContainerStarted(of, name, ...log);
      await this.#startProgress.onContainerRunning(of, name, signal);
    };
    this.#startProgress.begin(pod, plan, signal);
    try {
      const deps = { ...this.#deps, refresh, onContainerStarted, onStartAttempt };
      return await this.#withErrorEvent(pod, () => executePodPlan(pod, plan, observed.get(uid), deps, signal));
    } catch (error) {
      if (!signal.aborted) this.#deps.publisher.publishInterim(pod, observed.get(uid));
      throw error;
    } finally {
      this.#startProgress.end(uid);
      // Also after an error: the plan may have been executed in part.
      if (!signal.aborted) probes.follow(pod, await observed.refresh(uid, signal));
    }
  }

  /** Records the event of a pod error that concerns the whole pod. */
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

/** The newest container of each name in the spec, and the older ones. */
function observedContainers({ spec }: Pod, seen: ObservedPod | undefined): Pick<PodView, 'containers' | 'older'> {
  const names = new Set(allContainers(spec).map(({ name }) => name));
  const known = seen?.containers.filter(({ name }) => names.has(name)) ?? [];
  const newest = new Map(known.toReversed().map((each) => [each.name, each]));
  return { containers: newest, older: known.filter((each) => newest.get(each.name) !== each) };
}

/** Formats one error or several as Go does. */
function formatKillErrors(error: unknown): string {
  return error instanceof AggregateError ? `[${error.errors.map(formatKillErrors).join(', ')}]` : errorText(error);
}

/** The next sync comes when the first back-off ends; errors without a back-off are retried after the worker's delay. */
function syncOutcome(failures: StartFailures, isFresh: boolean, activeMs: number | undefined): SyncOutcome {
  const all = [...failures.values()];
  const backoffs = all.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
  const waits = activeMs === undefined ? backoffs : [...backoffs, activeMs];
  return {
    kind: 'settled',
    ...(waits.length > 0 && { resyncAfterMs: Math.min(...waits) }),
    ...((all.length > backoffs.length || !isFresh) && { failed: true }),
  };
}
