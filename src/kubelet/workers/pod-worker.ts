import type { Pod } from '../../api/generated/core-v1.ts';
import { assertNever } from '../../base/assert-never.ts';
import { errorText } from '../../base/error-text.ts';
import { isBrokenInvariant } from '../../base/invariant-error.ts';
import { LatestOnly } from '../../base/latest-only.ts';
import type { Log } from '../../base/log.ts';
import { isProgrammingError } from '../../base/programming-error.ts';
import type { UnhandledErrors } from '../../base/unhandled-errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import { specGracePeriod } from '../pod/grace-period.ts';
import { CausedError, podCauseOf } from '../pod/pod-cause.ts';
import type { KillPodOptions, PodSyncer } from './pod-syncer.ts';
import { nextState, type PodWorkerEvent, type PodWorkerState } from './pod-worker-state.ts';
import { regularRetryDelay, retryDelay } from './retry-delay.ts';
import { measuredPass, type WorkerOperation } from './worker-channel.ts';
import type { SyncError, WorkerProgress } from './worker-progress.ts';

/** Periodic syncs come after syncFrequency plus up to this fraction of it. */
const RESYNC_JITTER = 0.5;

export interface PodWorkerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly syncer: PodSyncer;
  readonly log: Log;
  readonly unhandled: Pick<UnhandledErrors, 'report'>;
  readonly syncFrequencyMs: number;
  /** Called after each change of phase. */
  readonly onPhase: (worker: PodWorker) => void;
  /** Called when the worker is done with its pod and can be dropped. */
  readonly onGone: (worker: PodWorker) => void;
  /** Whether admission would accept the pod now. */
  readonly isAdmissible: (pod: Pod) => boolean;
}

/**
 * Runs one pod from its first appearance until nothing of it is left.
 *
 * 1. At most one call into the syncer at a time.
 * 2. Every `wake`, update or change of phase triggers a call at once.
 * 3. Terminating the pod aborts the sync in progress.
 * 4. Errors do not leave the worker: they are logged, and the same phase is retried with back-off. A programming error is
 *    reported as unhandled. Only a broken invariant is not retried.
 */
export class PodWorker {
  readonly uid: string;
  readonly #deps: PodWorkerDeps;
  readonly #slot: LatestOnly<void>;
  readonly #life: AbortSignal;
  #pod: Pod;
  #state: PodWorkerState = { phase: 'waiting' };
  /** The pod was removed from its source: it is purged when it is finished. */
  #removed = false;
  /** The pod that came back to its source with the same UID while this one was terminating. */
  #successor: Pod | undefined;
  #pass: AbortController | undefined;
  #timer: AbortController | undefined;
  #gone = false;
  readonly #terminated = Promise.withResolvers<void>();
  readonly #released = Promise.withResolvers<void>();
  /** Set when the last sync failed. */
  #lastError: SyncError | undefined;
  #phaseSinceMs: number;
  #passSinceMs: number | undefined;
  #nextSyncMs: number | undefined;
  #backoffEndsMs: number | undefined;
  /** Of the next pass; `undefined` after it has begun. */
  #operation: WorkerOperation | undefined = 'create';
  readonly #seenMs: number;

  constructor(pod: Pod, deps: PodWorkerDeps, life: AbortSignal) {
    this.uid = pod.metadata.uid;
    this.#pod = pod;
    this.#deps = deps;
    this.#life = life;
    this.#phaseSinceMs = deps.clock.now();
    this.#seenMs = deps.clock.monotonic();
    this.#slot = new LatestOnly(
      () => this.#runOnce(),
      (error) => this.#retryUnhandled(error),
    );
  }

  get pod(): Pod {
    return this.#pod;
  }

  get state(): PodWorkerState {
    return this.#state;
  }

  /** The pod was removed from its source. */
  get removed(): boolean {
    return this.#removed;
  }

  /** The pod to start under this UID after this worker is gone. */
  get successor(): Pod | undefined {
    return this.#successor;
  }

  get progress(): WorkerProgress {
    return {
      phaseSinceMs: this.#phaseSinceMs,
      removed: this.#removed,
      nextSyncMs: this.#nextSyncMs,
      backoffEndsMs: this.#backoffEndsMs,
      graceEndsMs: this.#graceEndsMs(),
      lastError: this.#lastError,
    };
  }

  /** Resolves when no container runs or will be started. */
  get terminated(): Promise<void> {
    return this.#terminated.promise;
  }

  /** Resolves when the volumes and cgroups of the terminated pod are released. */
  get released(): Promise<void> {
    return this.#released.promise;
  }

  /** Requests a sync: the pod may have changed. */
  wake(): void {
    if (!this.#life.aborted && !this.#gone) this.#slot.offer();
  }

  update(pod: Pod): void {
    if (this.#removed) {
      this.#successor = pod;
      return;
    }
    this.#pod = pod;
    this.#operation ??= 'update';
    this.wake();
  }

  /** Starts a waiting pod: no older pod with its full name is left. */
  unblock(): void {
    this.#apply({ type: 'unblocked' });
    this.wake();
  }

  /** Terminates the pod. `removed`: it is purged afterwards, and a successor is dropped. */
  terminate({ removed, ...options }: KillPodOptions & { readonly removed: boolean }): void {
    if (removed) {
      this.#removed = true;
      this.#successor = undefined;
    }
    this.#operation ??= 'update';
    const before = this.#state;
    this.#apply({ type: 'killRequested', ...options });
    if (this.#state !== before) this.#pass?.abort(new CausedError('the pod is to end', { kind: 'podEnding' }));
    this.wake();
  }

  /** Resolves when no work is in progress. Used when the agent stops. */
  async settled(): Promise<void> {
    await this.#slot.idle();
  }

  #apply(event: PodWorkerEvent): void {
    const next = nextState(this.#state, event);
    if (next === this.#state) return;
    if (next.phase !== this.#state.phase) this.#phaseSinceMs = this.#deps.clock.now();
    this.#state = next;
    if (next.phase === 'terminated') this.#terminated.resolve();
    if (next.phase === 'finished') this.#released.resolve();
    this.#deps.onPhase(this);
  }

  async #runOnce(): Promise<void> {
    this.#timer?.abort();
    if (this.#life.aborted || this.#gone) return;
    const pass = new AbortController();
    this.#pass = pass;
    this.#passSinceMs = this.#deps.clock.now();
    this.#nextSyncMs = undefined;
    this.#backoffEndsMs = undefined;
    try {
      await this.#measure(() => this.#runPhase(AbortSignal.any([pass.signal, this.#life])));
      this.#lastError = undefined;
    } catch (error) {
      // The next sync follows an aborted one at once.
      if (isBrokenInvariant(error)) throw error;
      if (pass.signal.aborted || this.#life.aborted) return;
      const fields = { pod: this.#name(), phase: this.#state.phase, error };
      if (isProgrammingError(error)) this.#report(error);
      else this.#deps.log.error('cannot sync the pod, will retry', fields);
      const consecutive = (this.#lastError?.consecutive ?? 0) + 1;
      const cause = podCauseOf(error);
      this.#lastError = { error: errorText(error), ...(cause && { cause }), atMs: this.#deps.clock.now(), consecutive };
      this.#wakeIn(retryDelay(error, consecutive, this.#deps.random.fraction()));
    } finally {
      this.#pass = undefined;
      this.#passSinceMs = undefined;
    }
  }

  async #measure(run: () => Promise<void>): Promise<void> {
    const { phase } = this.#state;
    if (phase === 'waiting' || phase === 'finished') return run();
    const operation = phase === 'terminated' ? 'terminated' : (this.#operation ?? 'sync');
    this.#operation = undefined;
    await measuredPass({ pod: this.#pod, operation, seenMs: this.#seenMs }, this.#deps.clock, run);
  }

  /** For an error of the worker itself: `#runOnce` handles those of its calls. */
  #retryUnhandled(error: unknown): void {
    this.#report(error);
    if (!isBrokenInvariant(error)) this.#wakeIn(regularRetryDelay(0));
  }

  #report(error: unknown): void {
    this.#deps.unhandled.report('pod worker', error, { pod: this.#name(), phase: this.#state.phase });
  }

  async #runPhase(signal: AbortSignal): Promise<void> {
    const { syncer } = this.#deps;
    const state = this.#state;
    switch (state.phase) {
      case 'waiting':
        return;
      case 'syncing':
        return this.#sync(signal);
      case 'terminating':
        await syncer.terminate(this.#pod, state, signal);
        return this.#advance({ type: 'containersStopped' });
      case 'terminated':
        await syncer.release(this.#pod, signal);
        return this.#advance({ type: 'resourcesReleased' });
      case 'finished':
        if (!this.#removed) return;
        if (this.#isRestarted()) syncer.restart(this.#pod);
        else await syncer.purge(this.#pod, signal);
        this.#gone = true;
        return this.#deps.onGone(this);
      default:
        return assertNever(state);
    }
  }

  /**
   * As in kubelet, a pod that came back while it was terminating keeps its dead containers, which count as restarted. A
   * pod that does not restart exited containers, or that is rejected, starts from scratch.
   */
  #isRestarted(): boolean {
    const successor = this.#successor;
    return successor?.spec.restartPolicy === 'Always' && this.#deps.isAdmissible(successor);
  }

  async #sync(signal: AbortSignal): Promise<void> {
    const outcome = await this.#deps.syncer.sync(this.#pod, signal);
    if (outcome.kind === 'ended') {
      const graceSeconds = specGracePeriod(this.#pod);
      const { failure } = outcome;
      return this.#advance({ type: 'podEnded', graceSeconds, ...(failure && { failure }) });
    }
    const fraction = this.#deps.random.fraction();
    const regular = outcome.failed
      ? regularRetryDelay(fraction)
      : this.#deps.syncFrequencyMs * (1 + RESYNC_JITTER * fraction);
    const { resyncAfterMs } = outcome;
    if (resyncAfterMs !== undefined) this.#backoffEndsMs = this.#deps.clock.now() + resyncAfterMs;
    this.#wakeIn(Math.min(resyncAfterMs ?? regular, regular));
  }

  #advance(event: PodWorkerEvent): void {
    this.#apply(event);
    this.wake();
  }

  #wakeIn(ms: number): void {
    const timer = new AbortController();
    this.#timer = timer;
    this.#nextSyncMs = this.#deps.clock.now() + ms;
    this.#deps.clock.sleep(ms, AbortSignal.any([timer.signal, this.#life])).then(
      () => this.wake(),
      () => undefined, // a sync came first, or the agent stops
    );
  }

  /** Each termination attempt gives containers the current grace period; shortening it starts a new attempt. */
  #graceEndsMs(): number | undefined {
    if (this.#state.phase !== 'terminating' || this.#passSinceMs === undefined) return undefined;
    return Math.max(this.#passSinceMs, this.#phaseSinceMs) + this.#state.graceSeconds * 1000;
  }

  #name(): string {
    const { namespace, name } = this.#pod.metadata;
    return name === '' ? `with UID ${this.uid}` : `${namespace}/${name}`;
  }
}
