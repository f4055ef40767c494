import type { Pod } from '../api/generated/core-v1.ts';
import type { SourceError, SourceName } from '../kubelet/sources/pod-source.ts';
import type { SourceObjects } from '../kubelet/sources/source-objects.ts';

/** Called with an error of a listener. */
type OnUnhandled = (error: unknown) => void;

/**
 * Calls its listeners synchronously, in the order in which they subscribed. An error of one listener reaches neither the
 * others nor the caller of `raise`.
 */
export class Signal<Args extends readonly unknown[]> {
  readonly #listeners: ((...args: Args) => void)[] = [];
  readonly #onUnhandled: OnUnhandled;

  constructor(onUnhandled: OnUnhandled) {
    this.#onUnhandled = onUnhandled;
  }

  subscribe(listener: (...args: Args) => void): void {
    this.#listeners.push(listener);
  }

  raise(...args: Args): void {
    for (const listener of this.#listeners) {
      try {
        listener(...args);
      } catch (error) {
        this.#onUnhandled(error);
      }
    }
  }
}

/**
 * The notifications between the parts of one agent: a part raises a signal without knowing which parts it wakes.
 * `build-agent.ts` subscribes all listeners, and shows which part wakes which, and in which order.
 */
export class PodSignals {
  /** PLEG observed a change of the pod in the runtime. */
  readonly podObserved: Signal<[uid: string]>;
  /** A probe result of the pod changed. */
  readonly podProbed: Signal<[uid: string]>;
  /** The health of a device of the pod changed. */
  readonly podResourceHealth: Signal<[uid: string]>;
  /** An object or token that the pod refers to changed. */
  readonly podObjectChanged: Signal<[uid: string]>;
  /** The worker phase, the rejection or a source's version of the pod changed. */
  readonly podChanged: Signal<[pod: Pod]>;
  /** No trace of the pod is left on the node. */
  readonly podGone: Signal<[pod: Pod]>;
  /** A RuntimeClass was added, changed or removed. */
  readonly runtimeClassChanged: Signal<[name: string]>;
  /** A source reported the objects beside its pods. Raised before its pods reach the workers. */
  readonly sourceObjects: Signal<[source: SourceName, objects: SourceObjects]>;
  /** A source reported the manifests that it cannot use. */
  readonly sourceErrors: Signal<[source: SourceName, errors: readonly SourceError[]]>;
  /** A source reported its pods, and the workers have them. */
  readonly sourceReported: Signal<[]>;

  constructor(onUnhandled: OnUnhandled) {
    this.podObserved = new Signal(onUnhandled);
    this.podProbed = new Signal(onUnhandled);
    this.podResourceHealth = new Signal(onUnhandled);
    this.podObjectChanged = new Signal(onUnhandled);
    this.podChanged = new Signal(onUnhandled);
    this.podGone = new Signal(onUnhandled);
    this.runtimeClassChanged = new Signal(onUnhandled);
    this.sourceObjects = new Signal(onUnhandled);
    this.sourceErrors = new Signal(onUnhandled);
    this.sourceReported = new Signal(onUnhandled);
  }
}
