import type { Container, Pod, PodCondition } from '../../api/generated/core-v1.ts';
import { goJson } from '../../base/go/go-json.ts';
import type { Clock } from '../../host/clock.ts';
import type { PodEvents } from '../events/pod-events.ts';
import type { EventReason } from '../pod/event-reason.ts';
import { newestContainer, type ObservedPod } from '../pod/observed-pod.ts';
import type { HostFacts } from './host-facts.ts';
import { infeasibleResize, type ResizeSettings } from './infeasible-resize.ts';
import { ResizeConditions } from './resize-conditions.ts';
import { byResizePriority, type PendingResize } from './resize-order.ts';
import { planResize } from './resize-plan.ts';
import type { ResourceRecords } from './resource-records.ts';
import { requirementsText } from './resources-checkpoint.ts';

export interface PodResizesDeps {
  readonly records: ResourceRecords;
  readonly events: PodEvents;
  readonly clock: Clock;
  readonly settings: ResizeSettings;
  readonly hostFacts: HostFacts;
  /**
   * Admission of the resized pod beside the running ones. `undefined`: it is admitted; `wait`: it will be when other pods have
   * ended.
   */
  readonly admit: (
    pod: Pod,
    others: readonly Pod[],
  ) => { readonly reason: string; readonly message: string } | 'wait' | undefined;
}

/**
 * In-place resizes of running pods.
 *
 * 1. The requested resources are allocated as soon as the node has room. Until then the pod runs with its allocation
 *    and the resize is pending. An infeasible resize is not retried.
 * 2. An allocated resize is retried until the running containers have the resources.
 * 3. Events that a previous process recorded are not recorded again.
 */
export class PodResizes {
  readonly #deps: PodResizesDeps;
  readonly #conditions: ResizeConditions;
  /** UIDs of pods whose resize is pending. */
  readonly #pendingUids = new Set<string>();

  constructor(deps: PodResizesDeps) {
    this.#deps = deps;
    this.#conditions = new ResizeConditions(() => deps.clock.now());
  }

  /** The pod with its allocated resources. */
  allocated(pod: Pod): Pod {
    return this.#deps.records.allocated(pod);
  }

  /** Allocates the resources of a new pod. */
  onPodAdmitted(pod: Pod): void {
    this.#deps.records.allocate(pod);
  }

  /** Called when a source adds or updates the pod. */
  onPodUpdated(pod: Pod, isNew: boolean): void {
    const { uid } = pod.metadata;
    if (isNew) this.#conditions.restore(pod);
    if (this.allocated(pod) !== pod) {
      this.#pendingUids.add(uid);
      return;
    }
    this.#pendingUids.delete(uid);
    if (!isNew) this.#conditions.clear(uid, 'PodResizePending');
  }

  /** Called when the pod left its source. */
  forget(uid: string): void {
    this.#pendingUids.delete(uid);
    this.#deps.records.deallocate(uid);
  }

  /** Called once all sources have reported: drops the records of other pods. */
  retainOnly(uids: ReadonlySet<string>): void {
    this.#deps.records.retainOnly(uids);
  }

  get hasPending(): boolean {
    return this.#pendingUids.size > 0;
  }

  /**
   * Allocates pending resizes that fit. Returns those pods, and pods whose conditions have changed, with their
   * allocation.
   */
  retryPending(podByUid: ReadonlyMap<string, Pod>, running: readonly Pod[]): readonly Pod[] {
    const pending = [...this.#pendingUids].flatMap((uid) => this.#pending(podByUid.get(uid), running));
    this.#pendingUids.clear();
    return pending
      .sort(byResizePriority)
      .flatMap(({ pod }) => (this.#tryAllocate(pod, running) ? [this.allocated(pod)] : []));
  }

  /**
   * Updates the condition of the resize in progress. The allocation may be newer than the pod that the worker syncs.
   */
  checkProgress(taken: Pod, seen: ObservedPod | undefined): void {
    const pod = this.allocated(taken);
    const { uid } = pod.metadata;
    if (this.#isInProgress(pod, seen)) {
      this.#conditions.setInProgress(pod);
      return;
    }
    const done = this.#conditions.clear(uid, 'PodResizeInProgress');
    if (done) this.#recordEvent(pod, 'Normal', 'ResizeCompleted', 'Pod resize completed', done.observedGeneration);
  }

  /** Called when the containers could not be given the allocated resources. */
  onResizeFailed(pod: Pod, message: string): void {
    if (!this.#conditions.setInProgress(pod, { reason: 'Error', message })) return;
    const { observedGeneration } = this.#conditions.get(pod.metadata.uid, 'PodResizeInProgress') ?? {};
    this.#recordEvent(pod, 'Warning', 'ResizeError', 'Pod resize error', observedGeneration, message);
  }

  conditions(uid: string): readonly PodCondition[] {
    return this.#conditions.list(uid);
  }

  /** Called when the pod has ended: its conditions are dropped. */
  onPodEnded(uid: string): void {
    this.#pendingUids.delete(uid);
    this.#conditions.forget(uid);
  }

  #pending(pod: Pod | undefined, running: readonly Pod[]): PendingResize[] {
    if (!pod || !running.some(({ metadata }) => metadata.uid === pod.metadata.uid)) return [];
    const since = this.#conditions.get(pod.metadata.uid, 'PodResizePending')?.lastTransitionTime;
    return [{ pod, allocated: this.allocated(pod), since }];
  }

  /** Returns whether the pod worker has to sync. */
  #tryAllocate(pod: Pod, running: readonly Pod[]): boolean {
    const { uid, generation = 0 } = pod.metadata;
    const allocated = this.allocated(pod);
    if (allocated === pod) return this.#conditions.clear(uid, 'PodResizePending') !== undefined;
    const others = running.filter(({ metadata }) => metadata.uid !== uid).map((other) => this.allocated(other));
    const rejection = this.#infeasibleReason(pod, allocated) ?? this.#deps.admit(pod, others);
    if (rejection === 'wait') {
      this.#pendingUids.add(uid);
      return false;
    }
    if (rejection) return this.#defer(pod, rejection);
    this.#deps.records.allocate(pod);
    this.#conditions.clear(uid, 'PodResizePending');
    this.#conditions.clear(uid, 'PodResizeInProgress');
    this.#conditions.setInProgress(pod);
    this.#recordEvent(pod, 'Normal', 'ResizeStarted', 'Pod resize started', generation);
    return true;
  }

  #defer(pod: Pod, { reason: cause, message }: { readonly reason: string; readonly message: string }): boolean {
    const { uid, generation } = pod.metadata;
    const reason = cause === INFEASIBLE ? INFEASIBLE : 'Deferred';
    if (reason === 'Deferred') this.#pendingUids.add(uid);
    const news = this.#conditions.setPending(pod, { reason, message });
    const event = reason === INFEASIBLE ? 'ResizeInfeasible' : 'ResizeDeferred';
    if (news === 'reason') this.#recordEvent(pod, 'Warning', event, `Pod resize ${cause}`, generation, message);
    return news !== undefined;
  }

  #infeasibleReason(pod: Pod, allocated: Pod): { readonly reason: string; readonly message: string } | undefined {
    const { settings, hostFacts } = this.#deps;
    const message = infeasibleResize(pod, allocated, settings, hostFacts);
    return message === undefined ? undefined : { reason: INFEASIBLE, message };
  }

  /** Containers that do not run get the resources when they start. */
  #isInProgress(pod: Pod, seen: ObservedPod | undefined): boolean {
    const { containers, pod: wholePod } = planResize(pod, this.#deps.records.actuated(pod.metadata.uid));
    if (wholePod) return true;
    return resizableContainers(pod).some(
      ({ name }) => containers.has(name) && newestContainer(seen, name)?.state === 'running',
    );
  }

  #recordEvent(
    pod: Pod,
    type: 'Normal' | 'Warning',
    reason: EventReason,
    what: string,
    generation: number | undefined,
    error?: string,
  ): void {
    this.#deps.events.record(pod, type, reason, resizeMessage(what, pod, generation ?? 0, error));
  }
}

const INFEASIBLE = 'Infeasible';

/** Init containers that run to completion are not resized. */
function resizableContainers({ spec }: Pod): Container[] {
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...sidecars, ...spec.containers];
}

/** kubelet's event message about a resize: the requested resources in JSON. */
function resizeMessage(what: string, { spec }: Pod, generation: number, error = ''): string {
  const fields = [
    ...containerListText('initContainers', spec.initContainers),
    ...containerListText('containers', spec.containers),
    `"generation":${generation}`,
    ...(error === '' ? [] : [`"error":${goJson(error)}`]),
  ];
  return `${what}: {${fields.join(',')}}`;
}

function containerListText(name: string, containers: readonly Container[] = []): string[] {
  const each = containers.map(
    (container) => `{"name":${goJson(container.name)},"resources":${requirementsText(container.resources ?? {})}}`,
  );
  return each.length === 0 ? [] : [`"${name}":[${each.join(',')}]`];
}
