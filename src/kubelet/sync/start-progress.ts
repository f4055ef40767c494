import type { Pod } from '../../api/generated/core-v1.ts';
import type { ObservedPods } from '../pleg/observed-pods.ts';
import { findContainer } from '../pod/find-container.ts';
import type { ObservedContainer, ObservedPod } from '../pod/observed-pod.ts';
import type { PodError } from '../pod/pod-error.ts';
import type { Probes } from '../probes/probes.ts';
import type { PodPlan } from './pod-plan.ts';
import type { PodStatusPublisher } from './pod-status-publisher.ts';

export interface StartProgressDeps {
  readonly observed: Pick<ObservedPods, 'get' | 'refresh'>;
  readonly probes: Pick<Probes, 'follow'>;
  readonly publisher: Pick<PodStatusPublisher, 'recordStartResult' | 'publishInterim'>;
}

/** A sync in progress that starts containers. */
interface PodStart {
  readonly pod: Pod;
  /** All containers from before the sync, by id. */
  readonly before: ReadonlyMap<string, ObservedContainer>;
  /** Names of containers that have neither started nor failed yet. */
  readonly left: Set<string>;
  readonly signal: AbortSignal;
}

/**
 * Publishes and probes started containers while the pod's worker still starts others: pulling an image may take long.
 *
 * 1. A container is not shown before its start has completed, its postStart hook included.
 * 2. A container that the sync stops to start it again is shown as before until then, as kubelet does: where its pod's
 *    restart policy is not Always, the API server accepts no other state after a terminated one.
 * 3. Nothing is published for an aborted sync.
 */
export class StartProgress {
  readonly #deps: StartProgressDeps;
  readonly #pods = new Map<string, PodStart>();

  constructor(deps: StartProgressDeps) {
    this.#deps = deps;
  }

  /** Does nothing when a sandbox is replaced: its containers are shown together when all are back. */
  begin(pod: Pod, plan: PodPlan, signal: AbortSignal): void {
    const { uid } = pod.metadata;
    if (plan.kind !== 'adjust' && !(plan.kind === 'newSandbox' && plan.attempt === 0)) return;
    const before = new Map(this.#deps.observed.get(uid)?.containers.map((container) => [container.id, container]));
    this.#pods.set(uid, { pod, before, left: new Set(plan.start.map(({ name }) => name)), signal });
  }

  /**
   * Inspects the pod when its worker keeps waiting for a postStart hook or for another container, so that the running
   * container is shown and its log can be read.
   */
  async onContainerRunning({ metadata: { uid }, spec }: Pod, name: string, signal: AbortSignal): Promise<void> {
    const hasHook = findContainer(spec, name)?.lifecycle?.postStart !== undefined;
    const hasOthers = (this.#pods.get(uid)?.left.size ?? 0) > 1;
    if (!hasHook && !hasOthers) return;
    // An error is ignored: the worker inspects the pod again and reports it.
    await this.#deps.observed.refresh(uid, signal).catch(() => undefined);
  }

  /** Called when a container has started, or failed to. */
  onStartAttempt({ metadata: { uid } }: Pod, name: string, failure: PodError | undefined): void {
    this.#deps.publisher.recordStartResult(uid, name, failure);
    this.#pods.get(uid)?.left.delete(name);
    this.onPodObserved(uid);
  }

  /** Publishes the pod, which may have changed. */
  onPodObserved(uid: string): void {
    const starting = this.#pods.get(uid);
    if (!starting || starting.left.size === 0 || starting.signal.aborted) return;
    const { pod } = starting;
    const seen = withoutUnfinished(this.#deps.observed.get(uid), starting);
    this.#deps.probes.follow(pod, seen);
    this.#deps.publisher.publishInterim(pod, asBeforeRestart(seen, starting));
  }

  /** The worker publishes the final status itself. */
  end(uid: string): void {
    this.#pods.delete(uid);
  }
}

function withoutUnfinished(seen: ObservedPod | undefined, { before, left }: PodStart): ObservedPod | undefined {
  return seen && { ...seen, containers: seen.containers.filter(({ id, name }) => before.has(id) || !left.has(name)) };
}

function asBeforeRestart(seen: ObservedPod | undefined, { before, left }: PodStart): ObservedPod | undefined {
  const shown = (container: ObservedContainer): ObservedContainer =>
    (left.has(container.name) && before.get(container.id)) || container;
  return seen && { ...seen, containers: seen.containers.map(shown) };
}
