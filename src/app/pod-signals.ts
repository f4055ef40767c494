import type { Pod } from '../api/generated/core-v1.ts';
import type { SourceError, SourceName } from '../kubelet/sources/pod-source.ts';
import type { SourceObjects } from '../kubelet/sources/source-objects.ts';

/** Calls its listeners synchronously, in the order in which they subscribed. */
export class Signal<Args extends readonly unknown[]> {
  readonly #listeners: ((...args: Args) => void)[] = [];

  subscribe(listener: (...args: Args) => void): void {
    this.#listeners.push(listener);
  }

  raise(...args: Args): void {
    for (const listener of this.#listeners) listener(...args);
  }
}

/**
 * The notifications between the parts of one agent: a part raises a signal without knowing which parts it wakes.
 * `build-agent.ts` subscribes all listeners, and shows which part wakes which, and in which order.
 */
export class PodSignals {
  /** PLEG observed a change of the pod in the runtime. */
  readonly podObserved = new Signal<[uid: string]>();
  /** A probe result of the pod changed. */
  readonly podProbed = new Signal<[uid: string]>();
  /** An object or token that the pod refers to changed. */
  readonly podObjectChanged = new Signal<[uid: string]>();
  /** The worker phase, the rejection or a source's version of the pod changed. */
  readonly podChanged = new Signal<[pod: Pod]>();
  /** No trace of the pod is left on the node. */
  readonly podGone = new Signal<[pod: Pod]>();
  /** A RuntimeClass was added, changed or removed. */
  readonly runtimeClassChanged = new Signal<[name: string]>();
  /** A source reported the objects beside its pods. Raised before its pods reach the workers. */
  readonly sourceObjects = new Signal<[source: SourceName, objects: SourceObjects]>();
  /** A source reported the manifests that it cannot use. */
  readonly sourceErrors = new Signal<[source: SourceName, errors: readonly SourceError[]]>();
  /** A source reported its pods, and the workers have them. */
  readonly sourceReported = new Signal<[]>();
}
