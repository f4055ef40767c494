import type { Pod, PodStatus, ResourceStatus } from '../../api/generated/core-v1.ts';
import type { Clock } from '../../host/clock.ts';
import type { ObservedPods } from '../pleg/observed-pods.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import type { PodError } from '../pod/pod-error.ts';
import type { PodFailure } from '../pod/pod-failure.ts';
import type { ProbeResults } from '../probes/probe-results.ts';
import { computePodStatus } from '../status/compute-pod-status.ts';
import { isTerminal } from '../status/pod-phase.ts';
import type { ContainerStartError, PodStatusView, StatusFeatures, StatusResources } from '../status/pod-status-view.ts';
import type { StatusStore } from '../status/status-store.ts';

export interface PublisherDeps {
  readonly observed: ObservedPods;
  readonly probes: ProbeResults;
  readonly statuses: StatusStore;
  /** The pod is desired, and was not admitted. */
  readonly isRejected: (uid: string) => boolean;
  readonly clock: Clock;
  readonly hostIPs: readonly string[];
  readonly runtimeName: string;
  readonly features: (pod: Pod) => StatusFeatures;
  /** The health of the devices of a container; absent: none is known. */
  readonly resourceHealth?: (pod: Pod, container: string) => readonly ResourceStatus[];
  /** The resources that the status shows. */
  readonly resources: (uid: string) => StatusResources;
}

/** Computes and stores pod statuses. Remembers why containers did not start. */
export class PodStatusPublisher {
  readonly #deps: PublisherDeps;
  readonly #startErrors = new Map<string, ReadonlyMap<string, ContainerStartError>>();

  constructor(deps: PublisherDeps) {
    this.#deps = deps;
  }

  publish(pod: Pod, worker: PodStatusView['worker'], failure?: PodFailure): PodStatus {
    const { observed, statuses } = this.#deps;
    const { uid } = pod.metadata;
    const status = this.#compute(pod, { worker, failure, observed: observed.get(uid) });
    // An orphan has no spec, and so no status.
    if (pod.spec.containers.length > 0) statuses.update(pod, status);
    return statuses.get(uid)?.status ?? status;
  }

  /** Publishes a status during a sync. Terminal phases are left to the end of the sync. */
  publishInterim(pod: Pod, observed: ObservedPod | undefined): void {
    const status = this.#compute(pod, { worker: 'syncing', failure: undefined, observed });
    if (!isTerminal(status.phase)) this.#deps.statuses.update(pod, status);
  }

  /** Sets or clears the start error of a container. */
  recordStartResult(uid: string, name: string, failure: PodError | undefined): void {
    const errors = new Map(this.#startErrors.get(uid));
    errors.delete(name);
    if (failure) errors.set(name, { reason: failure.reason, message: failure.message });
    this.#startErrors.set(uid, errors);
  }

  #compute(pod: Pod, now: Pick<PodStatusView, 'worker' | 'failure' | 'observed'>): PodStatus {
    const { probes, statuses, clock, hostIPs, runtimeName, features, resources, resourceHealth } = this.#deps;
    const { uid } = pod.metadata;
    return computePodStatus({
      pod,
      ...now,
      probes,
      previous: statuses.get(uid)?.status,
      startErrors: this.#startErrors.get(uid) ?? new Map(),
      nowMs: clock.now(),
      hostIPs,
      runtimeName,
      features: features(pod),
      resources: resources(uid),
      ...(resourceHealth && { resourceHealth: (container: string) => resourceHealth(pod, container) }),
    });
  }

  /** Forgets a terminal status of a pod that starts again. Other statuses stay: restart counts continue. */
  forgetEnd(uid: string): void {
    if (isTerminal(this.#deps.statuses.get(uid)?.status.phase)) this.forget(uid);
  }

  /** A rejected pod keeps its status while what a previous process left of it is removed. */
  forget(uid: string): void {
    if (this.#deps.isRejected(uid)) return;
    this.#startErrors.delete(uid);
    this.#deps.statuses.remove(uid);
  }
}
