import type { Pod, PodStatus } from '../../api/generated/core-v1.ts';
import type { Clock } from '../../host/clock.ts';
import type { ObservedPods } from '../pleg/observed-pods.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import type { PodError } from '../pod/pod-error.ts';
import type { PodFailure } from '../pod/pod-failure.ts';
import type { ProbeResults } from '../probes/probe-results.ts';
import { computePodStatus } from '../status/compute-pod-status.ts';
import { isTerminal } from '../status/pod-phase.ts';
import type { ContainerTrouble, PodStatusView, StatusFeatures, StatusResources } from '../status/pod-status-view.ts';
import type { StatusStore } from '../status/status-store.ts';

export interface PublisherDeps {
  readonly observed: ObservedPods;
  readonly probes: ProbeResults;
  readonly statuses: StatusStore;
  readonly clock: Clock;
  readonly hostIPs: readonly string[];
  readonly runtimeName: string;
  readonly features: (pod: Pod) => StatusFeatures;
  /** What is to be told of the resources of a pod. */
  readonly resources: (uid: string) => StatusResources;
}

/** Turns what is known of a pod into its status, and remembers why containers do not run. */
export class PodStatusPublisher {
  readonly #deps: PublisherDeps;
  readonly #startErrors = new Map<string, ReadonlyMap<string, ContainerTrouble>>();

  constructor(deps: PublisherDeps) {
    this.#deps = deps;
  }

  publish(pod: Pod, worker: PodStatusView['worker'], verdict?: PodFailure): PodStatus {
    const { observed, statuses } = this.#deps;
    const { uid } = pod.metadata;
    const status = this.#compute(pod, { worker, verdict, observed: observed.get(uid) });
    // Of a pod that was left over only traces are known: there is no status to tell.
    if (pod.spec.containers.length > 0) statuses.update(pod, status);
    return statuses.get(uid)?.status ?? status;
  }

  /** In the middle of a pass, which alone decides that a pod is over. */
  publishInterim(pod: Pod, observed: ObservedPod | undefined): void {
    const status = this.#compute(pod, { worker: 'syncing', verdict: undefined, observed });
    if (!isTerminal(status.phase)) this.#deps.statuses.update(pod, status);
  }

  /** A container that was tried is in trouble if that failed, else no longer. */
  recordStartResult(uid: string, name: string, failure: PodError | undefined): void {
    const troubles = new Map(this.#startErrors.get(uid));
    troubles.delete(name);
    if (failure) troubles.set(name, { reason: failure.reason, message: failure.message });
    this.#startErrors.set(uid, troubles);
  }

  #compute(pod: Pod, now: Pick<PodStatusView, 'worker' | 'verdict' | 'observed'>): PodStatus {
    const { probes, statuses, clock, hostIPs, runtimeName, features, resources } = this.#deps;
    const { uid } = pod.metadata;
    return computePodStatus({
      pod,
      ...now,
      probes,
      previous: statuses.get(uid)?.status,
      troubles: this.#startErrors.get(uid) ?? new Map(),
      nowMs: clock.now(),
      hostIPs,
      runtimeName,
      features: features(pod),
      resources: resources(uid),
    });
  }

  /** A pod that starts again is not over; what its status counts, as the restarts of containers, goes on. */
  forgetEnd(uid: string): void {
    if (isTerminal(this.#deps.statuses.get(uid)?.status.phase)) this.forget(uid);
  }

  forget(uid: string): void {
    this.#startErrors.delete(uid);
    this.#deps.statuses.remove(uid);
  }
}
