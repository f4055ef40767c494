import type { Pod } from '../../api/generated/core-v1.ts';
import type { ObservedPods } from '../pleg/observed-pods.ts';
import { findContainer } from '../pod/find-container.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import type { PodError } from '../pod/pod-error.ts';
import type { Probes } from '../probes/probes.ts';
import type { PodPlan } from './pod-plan.ts';
import type { PodStatusPublisher } from './pod-status-publisher.ts';

export interface StartProgressDeps {
  readonly observed: Pick<ObservedPods, 'get' | 'refresh'>;
  readonly probes: Pick<Probes, 'follow'>;
  readonly publisher: Pick<PodStatusPublisher, 'recordStartResult' | 'publishInterim'>;
}

/** A pod in the middle of a pass that starts containers. */
interface PodStart {
  readonly pod: Pod;
  /** The ids of all containers from before the pass. */
  readonly before: ReadonlySet<string>;
  /** Names of those that have not started yet, nor failed to. */
  readonly left: Set<string>;
  readonly signal: AbortSignal;
}

/**
 * Shows and probes the containers of pods whose workers are busy with others: the image of one may take long.
 *
 * 1. A container that is being started is not there before its start has ended, its postStart hook included.
 * 2. Nothing is shown of a pass that was asked to stop.
 */
export class StartProgress {
  readonly #deps: StartProgressDeps;
  readonly #pods = new Map<string, PodStart>();

  constructor(deps: StartProgressDeps) {
    this.#deps = deps;
  }

  /** Where a sandbox is replaced, what it held goes and comes back: that is shown only as a whole. */
  begin(pod: Pod, plan: PodPlan, signal: AbortSignal): void {
    const { uid } = pod.metadata;
    if (plan.kind !== 'adjust' && !(plan.kind === 'newSandbox' && plan.attempt === 0)) return;
    const before = new Set(this.#deps.observed.get(uid)?.containers.map(({ id }) => id));
    this.#pods.set(uid, { pod, before, left: new Set(plan.start.map(({ name }) => name)), signal });
  }

  /**
   * A container runs. While its worker waits for its postStart hook, or for another container, nobody would look at the
   * pod: it is looked at now, so that the container is shown, and its log can be read.
   */
  async onContainerRunning({ metadata: { uid }, spec }: Pod, name: string, signal: AbortSignal): Promise<void> {
    const hasHook = findContainer(spec, name)?.lifecycle?.postStart !== undefined;
    const hasOthers = (this.#pods.get(uid)?.left.size ?? 0) > 1;
    if (!hasHook && !hasOthers) return;
    await this.#deps.observed.refresh(uid, signal).catch(() => undefined); // the worker looks again, and tells
  }

  /** A container has started, or could not. */
  onStartAttempt({ metadata: { uid } }: Pod, name: string, failure: PodError | undefined): void {
    this.#deps.publisher.recordStartResult(uid, name, failure);
    this.#pods.get(uid)?.left.delete(name);
    this.onPodObserved(uid);
  }

  /** Something about the pod may be another than before. */
  onPodObserved(uid: string): void {
    const starting = this.#pods.get(uid);
    if (!starting || starting.left.size === 0 || starting.signal.aborted) return;
    const { pod } = starting;
    const seen = withoutUnfinished(this.#deps.observed.get(uid), starting);
    this.#deps.probes.follow(pod, seen);
    this.#deps.publisher.publishInterim(pod, seen);
  }

  /** The worker shows the rest. */
  end(uid: string): void {
    this.#pods.delete(uid);
  }
}

function withoutUnfinished(seen: ObservedPod | undefined, { before, left }: PodStart): ObservedPod | undefined {
  return seen && { ...seen, containers: seen.containers.filter(({ id, name }) => before.has(id) || !left.has(name)) };
}
