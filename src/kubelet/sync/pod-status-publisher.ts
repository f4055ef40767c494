import type { Pod, PodStatus } from '../../api/generated/core-v1.ts';
import type { Clock } from '../../host/clock.ts';
import type { ObservedPods } from '../observe/observed-pods.ts';
import type { ProbeResults } from '../probes/probe-results.ts';
import { computePodStatus } from '../status/compute-pod-status.ts';
import type { ContainerTrouble, PodStatusView, PodVerdict } from '../status/pod-status-view.ts';
import type { StatusStore } from '../status/status-store.ts';
import type { StartFailures } from './execute-pod-plan.ts';

export interface PublisherDeps {
  readonly observed: ObservedPods;
  readonly probes: ProbeResults;
  readonly statuses: StatusStore;
  readonly clock: Clock;
  readonly hostIPs: readonly string[];
  readonly runtimeName: string;
}

/** Turns what is known of a pod into its status, and remembers why containers do not run. */
export class PodStatusPublisher {
  readonly #deps: PublisherDeps;
  readonly #troubles = new Map<string, ReadonlyMap<string, ContainerTrouble>>();

  constructor(deps: PublisherDeps) {
    this.#deps = deps;
  }

  publish(pod: Pod, worker: PodStatusView['worker'], verdict?: PodVerdict): PodStatus {
    const { observed, probes, statuses, clock, hostIPs, runtimeName } = this.#deps;
    const { uid } = pod.metadata;
    const status = computePodStatus({
      pod,
      worker,
      verdict,
      observed: observed.get(uid),
      probes,
      previous: statuses.get(uid)?.status,
      troubles: this.#troubles.get(uid) ?? new Map(),
      nowMs: clock.now(),
      hostIPs,
      runtimeName,
    });
    // Of a pod that was left over only traces are known: there is no status to tell.
    if (pod.spec.containers.length > 0) statuses.update(pod, status);
    return statuses.get(uid)?.status ?? status;
  }

  /** Containers that were tried: those that failed are in trouble, the others no longer. */
  note(uid: string, tried: readonly string[], failures: StartFailures): void {
    const before = [...(this.#troubles.get(uid) ?? [])].filter(([name]) => !tried.includes(name));
    const now = [...failures].map(([name, { reason, message }]) => [name, { reason, message }] as const);
    this.#troubles.set(uid, new Map([...before, ...now]));
  }

  forget(uid: string): void {
    this.#troubles.delete(uid);
    this.#deps.statuses.remove(uid);
  }
}
