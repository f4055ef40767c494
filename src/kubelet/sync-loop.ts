import type { Pod } from '../api/generated/core-v1.ts';
import { isMirrorPod, podFullName } from '../api/pod-names.ts';
import { assertNever } from '../base/assert-never.ts';
import { LatestOnly } from '../base/latest-only.ts';
import type { Log } from '../base/log.ts';
import type { Clock } from '../host/clock.ts';
import { activePods, otherPods } from './admission/active-pods.ts';
import type { ObservedPods } from './pleg/observed-pods.ts';
import { deletionGracePeriod } from './pod/grace-period.ts';
import type { PodFailure } from './pod/pod-failure.ts';
import type { PodResizes } from './resources/pod-resizes.ts';
import { allDesired, type DesiredPods, mergeSnapshot, NO_PODS, type PodChange } from './sources/desired-pods.ts';
import { indexPods, type PodIndex } from './sources/pod-index.ts';
import type { PodSource, SourceError, SourceSnapshot } from './sources/pod-source.ts';
import type { SourceObjects } from './sources/source-objects.ts';
import { isTerminal } from './status/pod-phase.ts';
import { haveGatesMoved } from './status/readiness-gates.ts';
import type { PodWorkers } from './workers/pod-workers.ts';

/** What a pod of which nobody knows anything any more gets to end: kubelet's own choice. */
const ORPHAN_GRACE_SECONDS = 1;
/** How often what is left over is looked for when nothing happens. */
const HOUSEKEEPING_MS = 60_000;
/** Between two looks for what is left over, which read what all pods have on the node: kubelet's housekeepingPeriod. */
const HOUSEKEEPING_PAUSE_MS = 2_000;

export interface SyncLoopDeps {
  readonly sources: readonly PodSource[];
  readonly workers: PodWorkers;
  readonly observed: ObservedPods;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the pod may run here beside the others. `undefined`: yes. */
  readonly admit: (pod: Pod, otherPods: readonly Pod[]) => PodFailure | undefined;
  /** What pods were promised, whatever they ask for by now. */
  readonly resizes: PodResizes;
  /** A pod that was refused, with the reason that its status shall show. */
  readonly reject: (pod: Pod, verdict: PodFailure) => void;
  /** A refused pod left its source. */
  readonly forget: (pod: Pod) => void;
  /** Pods of which something is left in the runtime, on disk or in control groups, by UID. */
  readonly podsOnNode: (signal: AbortSignal) => Promise<ReadonlyMap<string, Pod>>;
  /** All that stands beside the source's pods, before the workers hear of these. */
  readonly onObjects: (source: PodSource, objects: SourceObjects) => void;
  readonly onSourceErrors: (source: PodSource, problems: readonly SourceError[]) => void;
  /** A source has spoken, and these pods are another for it, mirror pods included. The workers know already. */
  readonly onChanges: (changes: readonly PodChange[]) => void;
}

/**
 * Takes the word of every source to the workers, and finds what no source speaks of any more.
 *
 * 1. A removal acts at once, whatever the state of the other sources.
 * 2. What is left over is ended only when every source has spoken.
 * 3. A pod whose name is still taken, by a leftover or by the pod that it replaces, waits for its end. What it needs of
 *    the node is counted without that one.
 * 4. Mirror pods are no pods to run: they show a static pod at the API server.
 * 5. Workers know pods with the resources that these were promised; other wishes are granted only when every source has
 *    spoken, so that who was here before is counted.
 */
export class SyncLoop {
  readonly #deps: SyncLoopDeps;
  #desired: DesiredPods = NO_PODS;
  #index: PodIndex = indexPods(NO_PODS);
  readonly #rejected = new Map<string, Pod>();
  /** When each step that is going on began, oldest first. */
  readonly #steps = new Set<{ readonly sinceMs: number }>();
  #closed = false;
  /** Many rejected pods cost one look at what is left over. */
  readonly #housekeeping = new LatestOnly<AbortSignal>((signal) => this.#housekeep(signal));

  constructor(deps: SyncLoopDeps) {
    this.#deps = deps;
  }

  get rejected(): ReadonlyMap<string, Pod> {
    return this.#rejected;
  }

  /** Every pod that a source wants, by what it may be asked for. */
  get index(): PodIndex {
    return this.#index;
  }

  /** How long the step takes by now that has been going on for longest; zero where none is. */
  stuckForMs(): number {
    const [oldest] = this.#steps;
    return oldest ? this.#deps.clock.monotonic() - oldest.sinceMs : 0;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { sources } = this.#deps;
    await Promise.all([...sources.map((source) => this.#followSource(source, signal)), this.#runHousekeeping(signal)]);
  }

  /** Takes no more, and ends every pod: those that run and those of which anything is left. */
  async close(signal: AbortSignal): Promise<void> {
    const { workers, podsOnNode: leftovers } = this.#deps;
    this.#closed = true;
    for (const { pod } of [...workers.all.values()]) this.#remove(pod);
    for (const pod of (await leftovers(signal)).values()) workers.killOrphan(pod, ORPHAN_GRACE_SECONDS);
  }

  /** Whether the pod would be admitted now. */
  isAdmissible(wanted: Pod): boolean {
    const pod = this.#deps.resizes.allocated(wanted);
    return this.#deps.admit(pod, otherPods(pod, this.#active())) === undefined;
  }

  /** The former pod of this UID is gone; as long as it was not, admission had nothing to decide. */
  readmit(pod: Pod): void {
    if (!this.#closed) this.#add(pod);
  }

  async #followSource(source: PodSource, signal: AbortSignal): Promise<void> {
    for await (const snapshot of source.snapshots(signal)) {
      if (this.#closed) continue;
      const mayLeaveMore = this.#applySnapshot(source, snapshot);
      if (mayLeaveMore) this.#housekeeping.offer(signal);
    }
  }

  /**
   * Whether something may be left over on the node since: a source is heard completely for the first time, or a new pod
   * was rejected. A removed pod has a worker that leaves nothing.
   */
  #applySnapshot(source: PodSource, snapshot: SourceSnapshot): boolean {
    const { desired, changes, errors: problems, objects } = mergeSnapshot(this.#desired, source.name, snapshot);
    const isReadier = desired.ready.size > this.#desired.ready.size;
    this.#desired = desired;
    this.#index = indexPods(desired);
    this.#deps.onSourceErrors(source, problems);
    if (objects) this.#deps.onObjects(source, objects);
    for (const change of changes) if (!isMirrorPod(change.pod)) this.#dispatch(change);
    this.#grantResizes();
    this.#deps.onChanges(changes);
    return isReadier || changes.some(({ op, pod }) => op === 'ADD' && this.#rejected.has(pod.metadata.uid));
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
    const { workers, admit, reject: refuse, resizes } = this.#deps;
    if (wanted.metadata.deletionTimestamp || isTerminal(wanted.status?.phase)) return this.#terminate(wanted);
    if (workers.all.get(wanted.metadata.uid)?.removed) return workers.update(wanted);
    const pod = resizes.allocated(wanted);
    const verdict = admit(pod, otherPods(pod, this.#active()));
    if (verdict) {
      this.#rejected.set(pod.metadata.uid, pod);
      return refuse(pod, verdict);
    }
    resizes.admitted(pod);
    resizes.asked(wanted, true);
    this.#killOrphansWithSameName(pod);
    workers.update(pod);
  }

  #update(pod: Pod): void {
    const { workers, resizes } = this.#deps;
    resizes.asked(pod, false);
    this.#grantResizes();
    workers.update(resizes.allocated(pod));
  }

  #active(): readonly Pod[] {
    return activePods(this.#deps.workers.all.values(), this.#deps.observed);
  }

  #grantResizes(): void {
    const { resizes, workers } = this.#deps;
    if (!resizes.isAnyWaiting || !this.#areSourcesReady()) return;
    for (const pod of resizes.grant(this.#index.podByUid, this.#active())) workers.update(pod);
  }

  #areSourcesReady(): boolean {
    return this.#deps.sources.every(({ name }) => this.#desired.ready.has(name));
  }

  /** The status at the API server is its writer's business; but whether the pod is ready may hang on others' words in it. */
  #reconcile(pod: Pod): void {
    const worker = this.#deps.workers.all.get(pod.metadata.uid);
    if (worker && haveGatesMoved(worker.pod, pod)) worker.update(this.#deps.resizes.allocated(pod));
  }

  /** A pod on its way out, or done: nothing is started, what runs is ended. It may be known only from now on. */
  #terminate(pod: Pod): void {
    this.#deps.workers.update(this.#deps.resizes.allocated(pod));
    this.#deps.workers.terminate(pod.metadata.uid, { graceSeconds: deletionGracePeriod(pod), removed: false });
  }

  /** What an earlier life of the agent left of another pod of this name has to be gone first. */
  #killOrphansWithSameName(pod: Pod): void {
    const { observed, workers } = this.#deps;
    const wanted = new Set(allDesired(this.#desired).map(({ metadata }) => metadata.uid));
    for (const { uid, name, namespace } of observed.all.values()) {
      const isNamesake = uid !== pod.metadata.uid && podFullName(orphanPod(uid, name, namespace)) === podFullName(pod);
      if (isNamesake && !wanted.has(uid)) workers.killOrphan(orphanPod(uid, name, namespace), ORPHAN_GRACE_SECONDS);
    }
  }

  #remove(pod: Pod): void {
    this.#deps.resizes.forget(pod.metadata.uid);
    if (this.#rejected.delete(pod.metadata.uid)) return this.#deps.forget(pod);
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
    if (signal.aborted || !this.#areSourcesReady()) return;
    await this.#killOrphans(signal);
    if (signal.aborted) return;
    this.#grantResizes();
    await this.#deps.clock.sleep(HOUSEKEEPING_PAUSE_MS, signal).catch(() => undefined);
  }

  async #killOrphans(signal: AbortSignal): Promise<void> {
    const { workers, podsOnNode: leftovers, resizes, clock, log } = this.#deps;
    const step = { sinceMs: clock.monotonic() };
    this.#steps.add(step);
    try {
      const found = await leftovers(signal);
      const wanted = new Set(allDesired(this.#desired).map(({ metadata }) => metadata.uid));
      workers.syncKnownPods(wanted);
      resizes.keepOnly(new Set([...wanted, ...workers.all.keys()]));
      for (const [uid, pod] of found) {
        const isWanted = wanted.has(uid) && !this.#rejected.has(uid);
        if (!isWanted) workers.killOrphan(pod, ORPHAN_GRACE_SECONDS);
      }
    } catch (error) {
      if (!signal.aborted) log.warn('cannot look for what earlier pods left', { error });
    } finally {
      this.#steps.delete(step);
    }
  }
}

/** A pod of which only the traces are known: enough to end it and to clean up behind it. */
export function orphanPod(uid: string, name: string, namespace: string): Pod {
  return { metadata: { uid, name, namespace }, spec: { containers: [] } };
}
