import type { Pod } from '../../api/generated/core-v1.ts';
import type { Clock } from '../../host/clock.ts';
import type { EventCause } from '../pod/pod-cause.ts';

/** An event of a pod: `Pulled`, `Created`, `Started`, `Killing`, `BackOff` … */
export interface PodEvent {
  readonly type: 'Normal' | 'Warning';
  /** One of kubelet's event reasons. */
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

/** Passes events to its subscribers: the log, the local API, the event writer. Recording never fails. */
export class PodEvents {
  readonly #clock: Clock;
  readonly #listeners = new Set<PodEventListener>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  record(
    pod: Pod,
    type: PodEvent['type'],
    reason: string,
    message: string,
    fieldPath?: string,
    cause?: EventCause,
  ): void {
    this.#pass(pod, { type, reason, message, fieldPath, atMs: this.#clock.now(), ...(cause && { cause }) });
  }

  recordAnnotated(
    pod: Pod,
    type: PodEvent['type'],
    reason: string,
    message: string,
    details: Pick<PodEvent, 'annotations' | 'cause'>,
  ): void {
    this.#pass(pod, { type, reason, message, fieldPath: undefined, atMs: this.#clock.now(), ...details });
  }

  #pass(pod: Pod, event: PodEvent): void {
    for (const listener of this.#listeners) listener(pod, event);
  }

  /** Returns the function that ends the subscription. */
  subscribe(listener: PodEventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
