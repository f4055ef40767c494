import type { Pod } from '../../api/generated/core-v1.ts';
import { podFullName } from '../../api/pod-names.ts';
import { deletionGracePeriod } from '../pod/grace-period.ts';
import type { PodFailure } from '../pod/pod-failure.ts';
import { isKnownTerminated, isTerminationRequested, type PodStateQuery } from './pod-state-queries.ts';
import type { KillPodOptions } from './pod-syncer.ts';
import { PodWorker, type PodWorkerDeps } from './pod-worker.ts';

export interface PodWorkersDeps extends Omit<PodWorkerDeps, 'onGone' | 'isAdmissible'> {
  /** Nothing of the pod is left, and no successor waits. */
  readonly onGone: (pod: Pod) => void;
  readonly admission: () => Readmission;
}

/** What becomes of pods that came back under their UIDs while they ended. */
export interface Readmission {
  /** Whether the pod would be admitted now. */
  isAdmissible(pod: Pod): boolean;
  /** The former pod is over: this one is to be admitted, and started with `update`. */
  readmit(pod: Pod): void;
}

/**
 * Every pod that the agent has to do with: those it runs, those it ends, and those of which traces are left.
 *
 * 1. One worker per UID.
 * 2. Never two pods of one full name at once: the later one waits, in the order of arrival, until the earlier has ended
 *    and given back what it held. Traces of it that cannot be removed do not keep the later one from starting.
 * 3. A UID that comes back while its pod is still ending is handed back after the end, to start anew.
 * 4. A pod that is marked as deleted when it is first seen is never started: its life begins with its end.
 */
export class PodWorkers {
  readonly #deps: PodWorkersDeps;
  readonly #life: AbortSignal;
  readonly #workers = new Map<string, PodWorker>();
  /** Full name → UIDs in the order of arrival; the first one has the name. */
  readonly #names = new Map<string, string[]>();
  /** The workers were compared with all sources once. */
  #synced = false;

  constructor(deps: PodWorkersDeps, life: AbortSignal) {
    this.#deps = deps;
    this.#life = life;
  }

  get all(): ReadonlyMap<string, PodWorker> {
    return this.#workers;
  }

  /** A pod that is to run, or a new version of one that does. */
  update(pod: Pod): void {
    const uid = pod.metadata.uid;
    const known = this.#workers.get(uid);
    if (known) known.update(pod);
    else this.#start(pod);
  }

  wake(uid: string): void {
    this.#workers.get(uid)?.wake();
  }

  /** Ends a pod; one that is not known is fine. */
  terminate(uid: string, ending: KillPodOptions & { readonly removed: boolean }): void {
    this.#workers.get(uid)?.terminate(ending);
  }

  /**
   * Ends a pod that its source still wants, and lets its status say why: an eviction, a shutdown. Resolves when none of
   * its containers runs any more; at once for a pod that is not known.
   */
  async killAndWait(uid: string, ending: KillPodOptions & { readonly failure: PodFailure }): Promise<void> {
    const worker = this.#workers.get(uid);
    worker?.terminate({ ...ending, removed: false });
    await worker?.terminated;
  }

  /** Ends a pod that no source knows: left over in the runtime or on disk from before. */
  killOrphan(pod: Pod, graceSeconds: number): void {
    const uid = pod.metadata.uid;
    if (this.#workers.has(uid)) return;
    this.#start(pod, { graceSeconds, removed: true });
  }

  /**
   * Compares with what every source wants: whoever is in none of them, and has not been told so, is ended. From now on
   * a pod without a worker is known to be gone.
   */
  syncKnownPods(wanted: ReadonlySet<string>): void {
    this.#synced = true;
    for (const worker of [...this.#workers.values()]) {
      if (!wanted.has(worker.uid) && !worker.removed) worker.terminate({ graceSeconds: deletionGracePeriod(worker.pod), removed: true });
    }
  }

  query(question: PodStateQuery, uid: string): boolean {
    return question(this.#workers.get(uid), this.#synced);
  }

  /** Whether the pod that has this full name is on its way out: a mirror pod of it is not to be made. */
  isTerminatingByFullName(fullName: string): boolean {
    const uid = this.#names.get(fullName)?.[0];
    if (uid === undefined) return false;
    return this.query(isTerminationRequested, uid) && !this.query(isKnownTerminated, uid);
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.settled()));
  }

  #start(pod: Pod, ending = requestedDeletion(pod)): void {
    const onPhase = (worker: PodWorker): void => this.#onPhase(worker);
    const onGone = (worker: PodWorker): void => this.#forget(worker);
    const isAdmissible = (successor: Pod): boolean => this.#deps.admission().isAdmissible(successor);
    const worker = new PodWorker(pod, { ...this.#deps, onPhase, onGone, isAdmissible }, this.#life);
    this.#workers.set(worker.uid, worker);
    const name = reservedName(pod);
    const queue = this.#names.get(name) ?? [];
    this.#names.set(name, [...queue, worker.uid]);
    // Before it could take its first step.
    if (ending) worker.terminate(ending);
    if (queue.length === 0) worker.unblock();
  }

  #onPhase(worker: PodWorker): void {
    this.#deps.onPhase(worker);
    if (worker.state.phase === 'finished') this.#releaseName(reservedName(worker.pod), worker.uid);
  }

  #forget(worker: PodWorker): void {
    this.#workers.delete(worker.uid);
    if (worker.successor) this.#deps.admission().readmit(worker.successor);
    else this.#deps.onGone(worker.pod);
  }

  #releaseName(name: string, uid: string): void {
    const left = (this.#names.get(name) ?? []).filter((each) => each !== uid);
    if (left.length === 0) this.#names.delete(name);
    else this.#names.set(name, left);
    const next = left[0] === undefined ? undefined : this.#workers.get(left[0]);
    next?.unblock();
  }
}

/** A pod of which only traces are known has no name, and so waits for no other and keeps none waiting. */
function reservedName(pod: Pod): string {
  return pod.metadata.name === '' ? `/${pod.metadata.uid}` : podFullName(pod);
}

function requestedDeletion(pod: Pod): (KillPodOptions & { readonly removed: boolean }) | undefined {
  return pod.metadata.deletionTimestamp ? { graceSeconds: deletionGracePeriod(pod), removed: false } : undefined;
}
