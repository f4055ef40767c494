import { isDeepStrictEqual } from 'node:util';
import { abortable } from '../../base/abortable.ts';
import type { RuntimeEvent } from '../../cri/runtime-events.ts';
import type { Clock } from '../../host/clock.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import { type InspectDeps, inspectPod } from './inspect-pod.ts';
import { type ListedPod, listPod, listPods } from './list-pods.ts';
import { plegChannel } from './pleg-channel.ts';

/** Maximum number of stop events that are kept for containers not observed yet. */
const EARLY_STOPS = 1000;

export interface ObservedPodsDeps extends InspectDeps {
  readonly clock: Clock;
  /** Called when a pod differs from its last inspection. */
  readonly onChange: (uid: string) => void;
}

/**
 * The observed pods: the cache of the PLEG, and its only writer.
 *
 * 1. One inspection of a pod at a time. `refresh` resolves with an inspection that began after the call.
 * 2. `onChange` is called after the new value can be read, and only when it differs from the old one.
 * 3. No exit is missed between two inspections: if a stop event arrived before its container was observed, the
 *    inspection that finds the container running is repeated.
 * 4. A failed inspection keeps the old value and marks it stale: `getCurrent` inspects again.
 */
export class ObservedPods {
  readonly #deps: ObservedPodsDeps;
  readonly #life: AbortSignal;
  readonly #pods = new Map<string, ObservedPod>();
  readonly #inspections = new Map<string, Inspection>();
  readonly #earlyStops = new Set<string>();
  /** Pods whose last inspection failed. */
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

  /** Returns the observed pod; inspects it first if the last inspection failed. */
  async getCurrent(uid: string, signal: AbortSignal): Promise<ObservedPod | undefined> {
    signal.throwIfAborted();
    return this.#stale.has(uid) ? this.refresh(uid, signal) : this.#pods.get(uid);
  }

  /** Inspects one pod now. `undefined` when the runtime has nothing of it. */
  async refresh(uid: string, signal: AbortSignal): Promise<ObservedPod | undefined> {
    return abortable(this.#upcoming(uid), signal);
  }

  /** Lists all pods and inspects those that changed. */
  async relist(signal: AbortSignal): Promise<void> {
    const beganMs = this.#deps.clock.monotonic();
    const changed = await this.#listChanged(signal);
    await Promise.all(changed.map((uid) => this.refresh(uid, signal)));
    this.#publishRelist(beganMs);
  }

  /** Lists all pods and starts to inspect those that changed, without waiting for the inspections. */
  async beginRelist(signal: AbortSignal): Promise<void> {
    const beganMs = this.#deps.clock.monotonic();
    for (const uid of await this.#listChanged(signal)) {
      // An error is ignored: the pod is marked stale, and its worker inspects it again.
      this.refresh(uid, signal).catch(() => undefined);
    }
    this.#publishRelist(beganMs);
  }

  #publishRelist(beganMs: number): void {
    plegChannel.publish({ kind: 'relisted', tookMs: this.#deps.clock.monotonic() - beganMs });
  }

  async #listChanged(signal: AbortSignal): Promise<string[]> {
    const listed = await listPods(this.#deps.runtime, signal);
    const gone = [...this.#pods.keys()].filter((uid) => !listed.has(uid));
    const changed = [...listed.values()].filter((parts) => differs(parts, this.#pods.get(parts.uid)));
    return [...gone, ...changed.map(({ uid }) => uid)];
  }

  /** Handles a runtime event; resolves when the affected pod is inspected. */
  async handleEvent(event: RuntimeEvent, signal: AbortSignal): Promise<void> {
    if (event.kind === 'subscribed') return this.relist(signal);
    const uid = event.podUid ?? this.#ownerOf(event.id);
    if (uid !== undefined) {
      await this.#refreshOrNotify(uid, signal);
    } else if (event.kind === 'stopped') {
      this.#rememberStop(event.id);
    }
  }

  /** Calls `onChange` when the inspection fails, so that the pod's worker inspects it again. */
  async #refreshOrNotify(uid: string, signal: AbortSignal): Promise<void> {
    try {
      await this.refresh(uid, signal);
    } catch (error) {
      this.#deps.onChange(uid);
      throw error;
    }
  }

  /** The next inspection that has not begun yet; concurrent callers share it. */
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
      const beganMs = this.#deps.clock.monotonic();
      const found = await this.#inspectOnce(uid, this.#life);
      plegChannel.publish({ kind: 'inspected', tookMs: this.#deps.clock.monotonic() - beganMs });
      return found;
    } catch (error) {
      this.#stale.add(uid);
      throw error;
    } finally {
      // Keep the entry while another inspection waits.
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

/** Whether the lists differ from the observed pod. */
function differs(parts: ListedPod, seen: ObservedPod | undefined): boolean {
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
