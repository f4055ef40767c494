import type { Pod } from '../api/generated/core-v1.ts';
import { isMirrorPod, podFullName } from '../api/pod-names.ts';
import { assertNever } from '../base/assert-never.ts';
import { LatestOnly } from '../base/latest-only.ts';
import { supervise } from '../base/supervise.ts';
import { activePods, otherPods } from './admission/active-pods.ts';
import { haveClaimsChanged } from './dra/pod-claims.ts';
import { deletionGracePeriod } from './pod/grace-period.ts';
import { orphanPod } from './pod/orphan-pod.ts';
import { allDesired, type DesiredPods, mergeSnapshot, NO_PODS, type PodChange } from './sources/desired-pods.ts';
import { indexPods, type PodIndex } from './sources/pod-index.ts';
import type { PodSource, SourceSnapshot } from './sources/pod-source.ts';
import { isTerminal } from './status/pod-phase.ts';
import { haveGatesChanged } from './status/readiness-gates.ts';
import type { SyncLoopDeps } from './sync-loop-deps.ts';
import { tracePodChange } from './workers/trace-pod.ts';

/** Grace period of an orphan, as in kubelet. */
const ORPHAN_GRACE_SECONDS = 1;
/** Period of the orphan check when no source changes. */
const HOUSEKEEPING_MS = 60_000;
/** Minimum pause between two orphan checks, which list all pods on the node: kubelet's housekeepingPeriod. */
const HOUSEKEEPING_PAUSE_MS = 2_000;

/**
 * Dispatches source updates to the pod workers, and kills orphans.
 *
 * 1. A removal acts at once, whatever the state of the other sources.
 * 2. Orphans are killed only when every source is ready.
 * 3. A pod whose full name is still in use, by an orphan or by the pod that it replaces, waits until that pod has
 *    ended. Admission does not count the resources of that pod.
 * 4. Mirror pods do not run: they show a static pod at the API server.
 * 5. Workers get pods with their allocated resources. Resizes are granted only when every source is ready, so that the
 *    pods of all sources are counted.
 * 6. An error in the dispatch of one pod does not affect other pods: its change is dispatched again in the next orphan check.
 */
export class SyncLoop {
  readonly #deps: SyncLoopDeps;
  #desired: DesiredPods = NO_PODS;
  #index: PodIndex = indexPods(NO_PODS);
  readonly #rejected = new Map<string, Pod>();
  /** Steps in progress, oldest first. */
  readonly #steps = new Set<{ readonly sinceMs: number }>();
  #closed = false;
  /** Coalesces requests: many rejected pods cause one orphan check. */
  readonly #housekeeping: LatestOnly<AbortSignal>;
  /** Changes whose dispatch failed, by UID. */
  readonly #failedChanges = new Map<string, PodChange>();

  constructor(deps: SyncLoopDeps) {
    this.#deps = deps;
    const onUnhandled = (error: unknown): void => deps.unhandled.report('housekeeping', error);
    this.#housekeeping = new LatestOnly<AbortSignal>((signal) => this.#housekeep(signal), onUnhandled);
  }

  get rejected(): ReadonlyMap<string, Pod> {
    return this.#rejected;
  }

  /** All desired pods, indexed by UID and full name. */
  get index(): PodIndex {
    return this.#index;
  }

  /** Duration of the longest-running step so far; zero when none is in progress. */
  stuckForMs(): number {
    const [oldest] = this.#steps;
    return oldest ? this.#deps.clock.monotonic() - oldest.sinceMs : 0;
  }

  async run(signal: AbortSignal): Promise<void> {
    const following = this.#deps.sources.map((source) => {
      const run = (each: AbortSignal): Promise<void> => this.#followSource(source, each);
      return supervise({ name: `source ${source.name}`, run, isEndless: true }, this.#deps, signal);
    });
    await Promise.all([...following, this.#runHousekeeping(signal)]);
  }

  /** Ignores further snapshots, and terminates all pods and orphans. */
  async close(signal: AbortSignal): Promise<void> {
    const { workers, podsOnNode } = this.#deps;
    this.#closed = true;
    for (const { pod } of [...workers.all.values()]) this.#remove(pod);
    for (const pod of (await podsOnNode(signal)).values()) workers.killOrphan(pod, ORPHAN_GRACE_SECONDS);
  }

  /** Whether the pod would be admitted now. */
  isAdmissible(wanted: Pod): boolean {
    const pod = this.#deps.resizes.allocated(wanted);
    return this.#deps.isAdmissible(pod, otherPods(pod, this.activePods()));
  }

  /** Admits a pod again after the previous pod of its UID is gone. */
  readmit(pod: Pod): void {
    if (!this.#closed) this.#add(pod);
  }

  /** Allocates pending resizes that fit now. */
  retryResizes(): void {
    if (!this.#closed) this.#grantResizes();
  }

  /** Pods that are admitted and have not terminated. */
  activePods(): readonly Pod[] {
    return activePods(this.#deps.workers.all.values(), this.#deps.observed);
  }

  async #followSource(source: PodSource, signal: AbortSignal): Promise<void> {
    for await (const snapshot of source.snapshots(signal)) {
      if (this.#closed) continue;
      const mayHaveOrphans = this.#applySnapshot(source, snapshot);
      if (mayHaveOrphans) this.#housekeeping.offer(signal);
    }
  }

  /**
   * Returns whether there may be new orphans: a source became ready, or a new pod was rejected. A removed pod has a
   * worker, which cleans up by itself.
   */
  #applySnapshot(source: PodSource, snapshot: SourceSnapshot): boolean {
    const { desired, changes, errors, objects } = mergeSnapshot(this.#desired, source.name, snapshot);
    const becameReady = desired.ready.size > this.#desired.ready.size;
    this.#desired = desired;
    this.#index = indexPods(desired);
    this.#deps.onSourceErrors(source, errors);
    if (objects) this.#deps.onObjects(source, objects);
    if (becameReady && this.areSourcesReady) this.#deps.onPodsKnown?.(this.#knownUids());
    for (const change of changes) if (!isMirrorPod(change.pod)) this.#tryDispatch(change);
    this.#grantResizes();
    this.#deps.onChanges(changes);
    return becameReady || changes.some(({ op, pod }) => op === 'ADD' && this.#rejected.has(pod.metadata.uid));
  }

  #tryDispatch(change: PodChange): void {
    const { uid, name, namespace } = change.pod.metadata;
    this.#failedChanges.delete(uid);
    try {
      tracePodChange(change, () => this.#dispatch(change));
    } catch (error) {
      this.#failedChanges.set(uid, change);
      this.#deps.unhandled.report('sync loop', error, { pod: `${namespace}/${name}`, op: change.op });
    }
  }

  #dispatch(change: PodChange): void {
    const { pod } = change;
    switch (change.op) {
      case 'ADD':
        return this.#add(pod);
      case 'UPDATE':
        return this.#rejected.has(pod.metadata.uid) ? undefined : this.#update(pod);
      case 'DELETE':
        return this.#rejected.has(pod.metadata.uid) ? undefined : this.#terminate(pod);
      case 'REMOVE':
        return this.#remove(pod);
      case 'RECONCILE':
        return this.#reconcile(pod);
      default:
        return assertNever(change);
    }
  }

  #add(wanted: Pod): void {
    const { workers, admit, reject, resizes } = this.#deps;
    if (wanted.metadata.deletionTimestamp || isTerminal(wanted.status?.phase)) return this.#terminate(wanted);
    if (workers.all.get(wanted.metadata.uid)?.removed) return workers.update(wanted);
    const pod = resizes.allocated(wanted);
    const rejection = admit(pod, otherPods(pod, this.activePods()));
    if (rejection) {
      this.#rejected.set(pod.metadata.uid, pod);
      return reject(pod, rejection);
    }
    resizes.onPodAdmitted(pod);
    resizes.onPodUpdated(wanted, true);
    this.#killOrphansWithSameName(pod);
    workers.update(pod);
  }

  #update(pod: Pod): void {
    const { workers, resizes } = this.#deps;
    resizes.onPodUpdated(pod, false);
    this.#grantResizes();
    workers.update(resizes.allocated(pod));
  }

  #grantResizes(): void {
    const { resizes, workers } = this.#deps;
    if (!resizes.hasPending || !this.areSourcesReady) return;
    for (const pod of resizes.retryPending(this.#index.podByUid, this.activePods())) workers.update(pod);
  }

  /** Whether every source has reported its pods. */
  get areSourcesReady(): boolean {
    return this.#deps.sources.every(({ name }) => this.#desired.ready.has(name));
  }

  #knownUids(): ReadonlySet<string> {
    const { workers, observed } = this.#deps;
    const wanted = allDesired(this.#desired).map(({ metadata }) => metadata.uid);
    return new Set([...wanted, ...workers.all.keys(), ...observed.all.keys()]);
  }

  /** Other components write the conditions of readiness gates and the names of claims; the rest of the status is our own. */
  #reconcile(pod: Pod): void {
    const worker = this.#deps.workers.all.get(pod.metadata.uid);
    if (worker && (haveGatesChanged(worker.pod, pod) || haveClaimsChanged(worker.pod, pod)))
      worker.update(this.#deps.resizes.allocated(pod));
  }

  /** Terminates a deleted or finished pod, whether or not it has a worker yet. Nothing of it is started. */
  #terminate(pod: Pod): void {
    this.#deps.workers.update(this.#deps.resizes.allocated(pod));
    this.#deps.workers.terminate(pod.metadata.uid, { graceSeconds: deletionGracePeriod(pod), removed: false });
  }

  /** Kills pods of the same full name that a previous process left in the runtime. */
  #killOrphansWithSameName(pod: Pod): void {
    const { observed, workers } = this.#deps;
    const wanted = new Set(allDesired(this.#desired).map(({ metadata }) => metadata.uid));
    for (const { uid, name, namespace } of observed.all.values()) {
      const orphan = orphanPod(uid, name, namespace);
      const hasSameName = uid !== pod.metadata.uid && podFullName(orphan) === podFullName(pod);
      if (hasSameName && !wanted.has(uid)) workers.killOrphan(orphan, ORPHAN_GRACE_SECONDS);
    }
  }

  #remove(pod: Pod): void {
    this.#deps.resizes.forget(pod.metadata.uid);
    if (this.#rejected.delete(pod.metadata.uid)) return this.#deps.forgetRejected(pod);
    return this.#deps.workers.terminate(pod.metadata.uid, { graceSeconds: deletionGracePeriod(pod), removed: true });
  }

  async #runHousekeeping(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#deps.clock.sleep(HOUSEKEEPING_MS, signal).catch(() => undefined);
      if (!signal.aborted) this.#housekeeping.offer(signal);
    }
    await this.#housekeeping.idle();
  }

  async #housekeep(signal: AbortSignal): Promise<void> {
    if (signal.aborted || !this.areSourcesReady) return;
    for (const change of [...this.#failedChanges.values()]) this.#tryDispatch(change);
    await this.#killOrphans(signal);
    if (signal.aborted) return;
    this.#grantResizes();
    await this.#deps.clock.sleep(HOUSEKEEPING_PAUSE_MS, signal).catch(() => undefined);
  }

  async #killOrphans(signal: AbortSignal): Promise<void> {
    const { workers, podsOnNode, resizes, clock, log } = this.#deps;
    const step = { sinceMs: clock.monotonic() };
    this.#steps.add(step);
    try {
      const found = await podsOnNode(signal);
      const wanted = new Set(allDesired(this.#desired).map(({ metadata }) => metadata.uid));
      workers.syncKnownPods(wanted);
      resizes.retainOnly(new Set([...wanted, ...workers.all.keys()]));
      for (const [uid, pod] of found) {
        const isWanted = wanted.has(uid) && !this.#rejected.has(uid);
        if (!isWanted) workers.killOrphan(pod, ORPHAN_GRACE_SECONDS);
      }
      this.#deps.onPodsKnown?.(this.#knownUids());
    } catch (error) {
      if (!signal.aborted) log.warn('cannot check for orphaned pods', { error });
    } finally {
      this.#steps.delete(step);
    }
  }
}
