import type { ObjectReference, Pod } from '../../api/generated/core-v1.ts';
import type { Clock } from '../../host/clock.ts';
import type { EventReason } from '../pod/event-reason.ts';
import type { EventCause } from '../pod/pod-cause.ts';
import type { PodFailure } from '../pod/pod-failure.ts';

/** An event of a pod: `Pulled`, `Created`, `Started`, `Killing`, `BackOff` … */
export interface PodEvent {
  readonly type: 'Normal' | 'Warning';
  /** An `EventReason`, or that of a pod that the node rejects or ends. */
  readonly reason: string;
  readonly message: string;
  /** Typed cause, where the reason alone does not say it. */
  readonly cause?: EventCause | undefined;
  /** Annotations of the event object. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** `spec.containers{web}` for an event of one container. */
  readonly fieldPath: string | undefined;
  readonly atMs: number;
}

export type PodEventListener = (pod: Pod, event: PodEvent) => void;

/** An event of something that a pod uses: a claim, a persistent volume, its node. */
export interface ObjectEvent extends Pick<PodEvent, 'type' | 'message' | 'atMs'> {
  readonly involvedObject: ObjectReference;
  readonly reason: EventReason;
}

export type ObjectEventListener = (event: ObjectEvent) => void;

/** Passes events to its subscribers: the log, the local API, the event writer. Recording never fails. */
export class PodEvents {
  readonly #clock: Clock;
  readonly #listeners = new Set<PodEventListener>();
  readonly #objectListeners = new Set<ObjectEventListener>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  record(
    pod: Pod,
    type: PodEvent['type'],
    reason: EventReason,
    message: string,
    fieldPath?: string,
    cause?: EventCause,
  ): void {
    this.#pass(pod, { type, reason, message, fieldPath, atMs: this.#clock.now(), ...(cause && { cause }) });
  }

  /** Records that the node rejects or ends the pod. */
  recordFailure(
    pod: Pod,
    type: PodEvent['type'],
    { reason, message }: Pick<PodFailure, 'reason' | 'message'>,
    details: Pick<PodEvent, 'annotations' | 'cause'> = {},
  ): void {
    this.#pass(pod, { type, reason, message, fieldPath: undefined, atMs: this.#clock.now(), ...details });
  }

  /** Records an event of something that a pod uses. */
  recordOf(involvedObject: ObjectReference, type: PodEvent['type'], reason: EventReason, message: string): void {
    const event = { involvedObject, type, reason, message, atMs: this.#clock.now() };
    for (const listener of this.#objectListeners) listener(event);
  }

  #pass(pod: Pod, event: PodEvent): void {
    for (const listener of this.#listeners) listener(pod, event);
  }

  /** Returns the function that ends the subscription. */
  subscribe(listener: PodEventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The same for events of what pods use. */
  subscribeToObjects(listener: ObjectEventListener): () => void {
    this.#objectListeners.add(listener);
    return () => this.#objectListeners.delete(listener);
  }
}
