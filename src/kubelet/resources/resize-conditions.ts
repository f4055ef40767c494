import type { Pod, PodCondition } from '../../api/generated/core-v1.ts';
import { formatTime } from '../../base/rfc3339.ts';

type ResizeCondition = 'PodResizePending' | 'PodResizeInProgress';

/** Why a resize is pending or fails. */
export interface ResizeDetail {
  readonly reason: string;
  readonly message: string;
}

/** The resize conditions of each pod. A condition that exists is true; its transition time is that of its reason. */
export class ResizeConditions {
  readonly #now: () => number;
  readonly #byPod = new Map<string, ReadonlyMap<ResizeCondition, PodCondition>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  list(uid: string): readonly PodCondition[] {
    return [...(this.#byPod.get(uid)?.values() ?? [])];
  }

  get(uid: string, type: ResizeCondition): PodCondition | undefined {
    return this.#byPod.get(uid)?.get(type);
  }

  /** Restores the conditions that a previous process wrote to the pod's status. */
  restore({ metadata, status }: Pod): void {
    for (const condition of status?.conditions ?? []) {
      const { type } = condition;
      if (type === 'PodResizePending' || type === 'PodResizeInProgress') this.#set(metadata.uid, type, condition);
    }
  }

  /** Returns what has changed: the reason or the requested generation, or only the message. `undefined`: nothing. */
  setPending({ metadata: { uid, generation = 0 } }: Pod, detail: ResizeDetail): 'reason' | 'message' | undefined {
    const before = this.get(uid, 'PodResizePending');
    const isSameRequest = before?.reason === detail.reason && (before.observedGeneration ?? 0) === generation;
    if (isSameRequest && before.message === detail.message) return undefined;
    this.#set(uid, 'PodResizePending', this.#condition('PodResizePending', before, detail, generation));
    return isSameRequest ? 'message' : 'reason';
  }

  /**
   * Keeps the generation that the resize started with, and its error unless there is a new one. Returns whether the
   * condition has changed.
   */
  setInProgress({ metadata: { uid, generation = 0 } }: Pod, detail: Partial<ResizeDetail> = {}): boolean {
    const before = this.get(uid, 'PodResizeInProgress');
    const known = { reason: before?.reason ?? '', message: before?.message ?? '' };
    const now = { ...known, ...detail };
    if (before && known.reason === now.reason && known.message === now.message) return false;
    const observed = before?.observedGeneration ?? generation;
    this.#set(uid, 'PodResizeInProgress', this.#condition('PodResizeInProgress', before, now, observed));
    return true;
  }

  /** Removes a condition and returns it. */
  clear(uid: string, type: ResizeCondition): PodCondition | undefined {
    const before = this.get(uid, type);
    if (!before) return undefined;
    const left = new Map(this.#byPod.get(uid));
    left.delete(type);
    if (left.size === 0) this.#byPod.delete(uid);
    else this.#byPod.set(uid, left);
    return before;
  }

  forget(uid: string): void {
    this.#byPod.delete(uid);
  }

  #condition(
    type: ResizeCondition,
    before: PodCondition | undefined,
    { reason, message }: ResizeDetail,
    observedGeneration: number,
  ): PodCondition {
    const now = formatTime(this.#now());
    return {
      type,
      status: 'True',
      ...(reason && { reason }),
      ...(message && { message }),
      ...(observedGeneration && { observedGeneration }),
      lastProbeTime: now,
      lastTransitionTime: before && (before.reason ?? '') === reason ? before.lastTransitionTime : now,
    };
  }

  #set(uid: string, type: ResizeCondition, condition: PodCondition): void {
    this.#byPod.set(uid, new Map([...(this.#byPod.get(uid) ?? []), [type, condition]]));
  }
}
