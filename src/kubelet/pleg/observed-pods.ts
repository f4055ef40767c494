import { isDeepStrictEqual } from 'node:util';
import { abortable } from '../../base/abortable.ts';
import type { RuntimeEvent } from '../../cri/runtime-events.ts';
import type { Clock } from '../../host/clock.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import { type InspectDeps, inspectPod } from './inspect-pod.ts';
import { listPod, listPods, type PodParts } from './list-pods.ts';

/** How many ids of containers that stopped before we had heard of them are remembered. */
const EARLY_STOPS = 1000;

export interface ObservedPodsDeps extends InspectDeps {
  readonly clock: Clock;
  /** The pod is not as it was when it was last looked at. */
  readonly onChange: (uid: string) => void;
}

/**
 * The pods as the runtime has them; the only writer of that knowledge.
 *
 * 1. One inspection of a pod at a time. `refresh` answers with one that began after the call.
 * 2. `onChange` is called after the new value can be read, and only when it differs from the old one.
 * 3. A container's end is never missed between two looks: a stop that was told before its container was known makes
 *    the inspection that finds it running look once more.
 * 4. A look that fails leaves what was known before, and is remembered: `known` looks again.
 */
export class ObservedPods {
  readonly #deps: ObservedPodsDeps;
  readonly #life: AbortSignal;
  readonly #pods = new Map<string, ObservedPod>();
  readonly #inspections = new Map<string, Inspection>();
  readonly #earlyStops = new Set<string>();
  /** Pods whose last look failed: what is known of them may be old. */
  readonly #stale = new Set<string>();

  constructor(deps: ObservedPodsDeps, life: AbortSignal) {
    this.#deps = deps;
    this.#life = life;
  }

  get all(): ReadonlyMap<string, ObservedPod> {
    return this.#pods;
  }

  get(uid: string): ObservedPod | undefined {
    return this.#pods.get(uid);
  }

  /** What is known of a pod, for whoever acts on it: it is looked at first if the last look failed. */
  async getCurrent(uid: string, signal: AbortSignal): Promise<ObservedPod | undefined> {
    signal.throwIfAborted();
    return this.#stale.has(uid) ? this.refresh(uid, signal) : this.#pods.get(uid);
  }

  /** Looks at one pod now. `undefined`: the runtime knows nothing of it. */
  async refresh(uid: string, signal: AbortSignal): Promise<ObservedPod | undefined> {
    return abortable(this.#upcoming(uid), signal);
  }

  /** Looks at everything. */
  async relist(signal: AbortSignal): Promise<void> {
    const changed = await this.#listChanged(signal);
    await Promise.all(changed.map((uid) => this.refresh(uid, signal)));
  }

  /** Lists everything and begins to look at what is not as it was. A pod that takes long holds up no other. */
  async beginRelist(signal: AbortSignal): Promise<void> {
    for (const uid of await this.#listChanged(signal)) {
      this.refresh(uid, signal).catch(() => undefined); // whoever acts on the pod looks again, and tells
    }
  }

  async #listChanged(signal: AbortSignal): Promise<string[]> {
    const listed = await listPods(this.#deps.runtime, signal);
    const gone = [...this.#pods.keys()].filter((uid) => !listed.has(uid));
    const changed = [...listed.values()].filter((parts) => differs(parts, this.#pods.get(parts.uid)));
    return [...gone, ...changed.map(({ uid }) => uid)];
  }

  /** Takes a word from the runtime; resolves when its effect is known. */
  async handleEvent(event: RuntimeEvent, signal: AbortSignal): Promise<void> {
    if (event.kind === 'subscribed') return this.relist(signal);
    const uid = event.podUid ?? this.#ownerOf(event.id);
    if (uid !== undefined) {
      await this.#refreshOrNotify(uid, signal);
    } else if (event.kind === 'stopped') {
      this.#rememberStop(event.id);
    }
  }

  /** When the look fails it is left to whoever acts on the pod to look again. */
  async #refreshOrNotify(uid: string, signal: AbortSignal): Promise<void> {
    try {
      await this.refresh(uid, signal);
    } catch (error) {
      this.#deps.onChange(uid);
      throw error;
    }
  }

  /** The next inspection of the pod that has not begun yet; those who wait share it. */
  #upcoming(uid: string): Promise<ObservedPod | undefined> {
    const current = this.#inspections.get(uid);
    if (!current) return this.#inspect(uid);
    current.next ??= current.done.then(() => this.#inspect(uid));
    return current.next;
  }

  async #inspect(uid: string): Promise<ObservedPod | undefined> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const inspection: Inspection = { done: promise, next: undefined };
    this.#inspections.set(uid, inspection);
    try {
      return await this.#inspectOnce(uid, this.#life);
    } catch (error) {
      this.#stale.add(uid);
      throw error;
    } finally {
      // While another one waits to begin, the place stays taken.
      if (!inspection.next) this.#inspections.delete(uid);
      resolve();
    }
  }

  async #inspectOnce(uid: string, signal: AbortSignal): Promise<ObservedPod | undefined> {
    const inspectedAt = this.#deps.clock.monotonic();
    const parts = await listPod(this.#deps.runtime, uid, signal);
    const before = this.#pods.get(uid);
    const after = parts && (await inspectPod(parts, before, inspectedAt, this.#deps, signal));
    if (after?.containers.some(({ id, state }) => state === 'running' && this.#earlyStops.delete(id))) {
      return this.#inspectOnce(uid, signal);
    }
    this.#stale.delete(uid);
    if (after && after.sandboxes.length + after.containers.length > 0) this.#pods.set(uid, after);
    else this.#pods.delete(uid);
    if (!sameState(before, this.#pods.get(uid))) this.#deps.onChange(uid);
    return this.#pods.get(uid);
  }

  #ownerOf(id: string): string | undefined {
    for (const pod of this.#pods.values()) {
      if (pod.sandboxes.some((each) => each.id === id) || pod.containers.some((each) => each.id === id)) return pod.uid;
    }
    return undefined;
  }

  #rememberStop(id: string): void {
    this.#earlyStops.add(id);
    const [oldest] = this.#earlyStops;
    if (this.#earlyStops.size > EARLY_STOPS && oldest !== undefined) this.#earlyStops.delete(oldest);
  }
}

interface Inspection {
  readonly done: Promise<void>;
  next: Promise<ObservedPod | undefined> | undefined;
}

/** Whether the lists alone show that a pod is not as it was seen. */
function differs(parts: PodParts, seen: ObservedPod | undefined): boolean {
  if (!seen) return true;
  if (parts.sandboxes.length !== seen.sandboxes.length || parts.containers.length !== seen.containers.length)
    return true;
  const sandboxes = new Map(seen.sandboxes.map((each) => [each.id, each.ready]));
  const containers = new Map(seen.containers.map((each) => [each.id, each.state]));
  return (
    parts.sandboxes.some((each) => sandboxes.get(each.id) !== each.ready) ||
    parts.containers.some((each) => containers.get(each.id) !== each.state)
  );
}

function sameState(a: ObservedPod | undefined, b: ObservedPod | undefined): boolean {
  if (!a || !b) return a === b;
  return isDeepStrictEqual({ ...a, inspectedAt: 0 }, { ...b, inspectedAt: 0 });
}
