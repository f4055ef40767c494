import type { Pod } from '../api/generated/core-v1.ts';
import type { SourceError, SourceName } from '../kubelet/sources/pod-source.ts';
import type { SourceObjects } from '../kubelet/sources/source-objects.ts';

/** Called with an error of a listener. */
type OnFault = (error: unknown) => void;

/**
 * Calls its listeners synchronously, in the order in which they subscribed. An error of one listener reaches neither the
 * others nor the caller of `raise`.
 */
export class Signal<Args extends readonly unknown[]> {
  readonly #listeners: ((...args: Args) => void)[] = [];
  readonly #onFault: OnFault;

  constructor(onFault: OnFault) {
    this.#onFault = onFault;
  }

  subscribe(listener: (...args: Args) => void): void {
    this.#listeners.push(listener);
  }

  raise(...args: Args): void {
    for (const listener of this.#listeners) {
      try {
        listener(...args);
      } catch (error) {
        this.#onFault(error);
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

  constructor(onFault: OnFault) {
    this.podObserved = new Signal(onFault);
    this.podProbed = new Signal(onFault);
    this.podObjectChanged = new Signal(onFault);
    this.podChanged = new Signal(onFault);
    this.podGone = new Signal(onFault);
    this.runtimeClassChanged = new Signal(onFault);
    this.sourceObjects = new Signal(onFault);
    this.sourceErrors = new Signal(onFault);
    this.sourceReported = new Signal(onFault);
  }
}
