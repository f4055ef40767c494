import type { Pod } from '../../api/generated/core-v1.ts';
import { podFullName } from '../../api/pod-names.ts';
import { InvariantError } from '../../base/invariant-error.ts';
import { deletionGracePeriod } from '../pod/grace-period.ts';
import type { PodFailure } from '../pod/pod-failure.ts';
import type { PodStateQuery } from './pod-state-queries.ts';
import type { KillPodOptions } from './pod-syncer.ts';
import { PodWorker, type PodWorkerDeps } from './pod-worker.ts';
import { workerChannel } from './worker-channel.ts';

export interface PodWorkersDeps extends Omit<PodWorkerDeps, 'onGone' | 'isAdmissible'> {
  /** Called when nothing of the pod is left and it has no successor. */
  readonly onGone: (pod: Pod) => void;
  readonly admission: () => Readmission;
}

/** Admission of pods that came back with their UID while they were terminating. */
export interface Readmission {
  /** Whether admission would accept the pod now. */
  isAdmissible(pod: Pod): boolean;
  /** The previous pod is gone: admits this one and starts it with `update`. */
  readmit(pod: Pod): void;
}

/**
 * The workers of all pods: running, terminating, and orphaned.
 *
 * 1. One worker per UID.
 * 2. Never two pods of one full name at a time: later pods wait, in order of arrival, until the earlier one is
 *    finished. Failing to purge a finished pod does not block the next one.
 * 3. A UID that comes back while its pod is terminating is admitted again afterwards.
 * 4. A pod that is already deleted when it first appears is never started, only terminated.
 */
export class PodWorkers {
  readonly #deps: PodWorkersDeps;
  readonly #life: AbortSignal;
  readonly #workers = new Map<string, PodWorker>();
  /** Full name → UIDs in order of arrival; the first one holds the name. */
  readonly #names = new Map<string, string[]>();
  /** The UID that comes back while it is admitted again. */
  readonly #restarting = new Set<string>();
  /** Set once the workers were compared with the desired pods of all sources. */
  #synced = false;

  constructor(deps: PodWorkersDeps, life: AbortSignal) {
    this.#deps = deps;
    this.#life = life;
  }

  get all(): ReadonlyMap<string, PodWorker> {
    return this.#workers;
  }

  /** Starts a pod, or updates a running one. */
  update(pod: Pod): void {
    const uid = pod.metadata.uid;
    const known = this.#workers.get(uid);
    if (known) known.update(pod);
    else this.#start(pod);
  }

  wake(uid: string): void {
    this.#workers.get(uid)?.wake();
  }

  /** Terminates a pod; does nothing for an unknown UID. */
  terminate(uid: string, ending: KillPodOptions & { readonly removed: boolean }): void {
    this.#workers.get(uid)?.terminate(ending);
  }

  /**
   * Terminates a pod that is still desired and sets its status: an eviction, a shutdown. Resolves when no container
   * runs any more; at once for an unknown UID.
   */
  async killAndWait(uid: string, ending: KillPodOptions & { readonly failure: PodFailure }): Promise<void> {
    const worker = this.#workers.get(uid);
    worker?.terminate({ ...ending, removed: false });
    await worker?.terminated;
  }

  /** Terminates and purges a pod that no source wants and that has no worker. */
  killOrphan(pod: Pod, graceSeconds: number): void {
    const uid = pod.metadata.uid;
    if (this.#workers.has(uid)) return;
    workerChannel.publish({ kind: 'orphanFound' });
    this.#start(pod, { graceSeconds, removed: true });
  }

  /**
   * Terminates pods that no source wants. From now on a pod without a worker is known to be gone. Called when every
   * source is ready.
   */
  syncKnownPods(wanted: ReadonlySet<string>): void {
    this.#synced = true;
    for (const worker of [...this.#workers.values()]) {
      if (!wanted.has(worker.uid) && !worker.removed)
        worker.terminate({ graceSeconds: deletionGracePeriod(worker.pod), removed: true });
    }
  }

  query(question: PodStateQuery, uid: string): boolean {
    return question(this.#workers.get(uid), this.#synced);
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.settled()));
  }

  #start(pod: Pod, options = requestedDeletion(pod)): void {
    const { uid } = pod.metadata;
    if (this.#workers.has(uid)) throw new InvariantError(`pod ${podFullName(pod)} with UID ${uid} has two workers`);
    const onPhase = (worker: PodWorker): void => this.#onPhase(worker);
    const onGone = (worker: PodWorker): void => this.#forget(worker);
    const isAdmissible = (successor: Pod): boolean => this.#deps.admission().isAdmissible(successor);
    const worker = new PodWorker(pod, { ...this.#deps, onPhase, onGone, isAdmissible }, this.#life);
    this.#workers.set(worker.uid, worker);
    workerChannel.publish({ kind: 'seen', pod, isRestart: this.#restarting.delete(uid) });
    const name = reservedName(pod);
    const queue = this.#names.get(name) ?? [];
    this.#names.set(name, [...queue, worker.uid]);
    // Before its first sync.
    if (options) worker.terminate(options);
    if (queue.length === 0) worker.unblock();
  }

  #onPhase(worker: PodWorker): void {
    this.#deps.onPhase(worker);
    if (worker.state.phase === 'finished') this.#releaseName(reservedName(worker.pod), worker.uid);
  }

  #forget(worker: PodWorker): void {
    this.#workers.delete(worker.uid);
    workerChannel.publish({ kind: 'gone', pod: worker.pod });
    if (worker.successor) {
      this.#restarting.add(worker.uid);
      this.#deps.admission().readmit(worker.successor);
      this.#restarting.delete(worker.uid);
    } else this.#deps.onGone(worker.pod);
  }

  #releaseName(name: string, uid: string): void {
    const left = (this.#names.get(name) ?? []).filter((each) => each !== uid);
    if (left.length === 0) this.#names.delete(name);
    else this.#names.set(name, left);
    const next = left[0] === undefined ? undefined : this.#workers.get(left[0]);
    next?.unblock();
  }
}

/** An orphan without a known name blocks no other pod and waits for none. */
function reservedName(pod: Pod): string {
  return pod.metadata.name === '' ? `/${pod.metadata.uid}` : podFullName(pod);
}

function requestedDeletion(pod: Pod): (KillPodOptions & { readonly removed: boolean }) | undefined {
  return pod.metadata.deletionTimestamp ? { graceSeconds: deletionGracePeriod(pod), removed: false } : undefined;
}
