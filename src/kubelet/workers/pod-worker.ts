import type { Pod } from '../../api/generated/core-v1.ts';
import { assertNever } from '../../base/assert-never.ts';
import { LatestOnly } from '../../base/latest-only.ts';
import type { Log } from '../../base/log.ts';
import { errorText } from '../../base/error-text.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import { specGracePeriod } from '../pod/grace-period.ts';
import { CausedError, podCauseOf } from '../pod/pod-cause.ts';
import type { KillPodOptions, PodSyncer } from './pod-syncer.ts';
import { nextState, type PodWorkerEvent, type PodWorkerState } from './pod-worker-state.ts';
import { regularRetryDelay, retryDelay } from './retry-delay.ts';
import type { SyncError, WorkerProgress } from './worker-progress.ts';

/** The regular look at a pod comes after syncFrequency, plus jitter. */
const RESYNC_JITTER = 0.5;

export interface PodWorkerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly syncer: PodSyncer;
  readonly log: Log;
  readonly syncFrequencyMs: number;
  /** Told after each change of phase. */
  readonly onPhase: (worker: PodWorker) => void;
  /** The worker is done with its pod for good. */
  readonly onGone: (worker: PodWorker) => void;
  /** Whether the pod would be admitted if it started now. */
  readonly isAdmissible: (pod: Pod) => boolean;
}

/**
 * One pod, from the first sight of it to the last trace.
 *
 * 1. At most one call into the syncer at a time.
 * 2. A call starts after every `wake`, update or change of phase; nothing waits for a tick.
 * 3. Asking for the end of the pod aborts the pass that is under way.
 * 4. A failure never leaves the worker: it is logged and the same phase is tried again.
 */
export class PodWorker {
  readonly uid: string;
  readonly #deps: PodWorkerDeps;
  readonly #slot: LatestOnly<void>;
  readonly #life: AbortSignal;
  #pod: Pod;
  #state: PodWorkerState = { phase: 'waiting' };
  /** Left its source: what remains is purged once it is finished. */
  #removed = false;
  /** Came back into its source, with the same UID, while it was still ending. */
  #successor: Pod | undefined;
  #pass: AbortController | undefined;
  #timer: AbortController | undefined;
  #gone = false;
  readonly #terminated = Promise.withResolvers<void>();
  /** The last pass, when it failed. */
  #lastError: SyncError | undefined;
  #phaseSinceMs: number;
  #passSinceMs: number | undefined;
  #nextSyncMs: number | undefined;
  #backoffEndsMs: number | undefined;

  constructor(pod: Pod, deps: PodWorkerDeps, life: AbortSignal) {
    this.uid = pod.metadata.uid;
    this.#pod = pod;
    this.#deps = deps;
    this.#life = life;
    this.#phaseSinceMs = deps.clock.now();
    this.#slot = new LatestOnly(() => this.#runOnce());
  }

  get pod(): Pod {
    return this.#pod;
  }

  get state(): PodWorkerState {
    return this.#state;
  }

  /** Left its source. */
  get removed(): boolean {
    return this.#removed;
  }

  /** The pod to run under this UID once this worker is gone. */
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

  /** Resolves when none of its containers runs, nor ever will. */
  get terminated(): Promise<void> {
    return this.#terminated.promise;
  }

  /** Something about the pod may have changed. */
  wake(): void {
    if (!this.#life.aborted && !this.#gone) this.#slot.offer();
  }

  update(pod: Pod): void {
    if (this.#removed) {
      this.#successor = pod;
      return;
    }
    this.#pod = pod;
    this.wake();
  }

  unblock(): void {
    this.#apply({ type: 'nameFree' });
    this.wake();
  }

  /** Ends the pod. With `removed` it is also forgotten in the end; a removal takes back a wish to start anew. */
  terminate({ removed, ...ending }: KillPodOptions & { readonly removed: boolean }): void {
    if (removed) {
      this.#removed = true;
      this.#successor = undefined;
    }
    const before = this.#state;
    this.#apply({ type: 'killRequested', ...ending });
    if (this.#state !== before) this.#pass?.abort(new CausedError('the pod is to end', { kind: 'podEnding' }));
    this.wake();
  }

  /** Resolves when no work is under way any more; for the end of the agent. */
  async settled(): Promise<void> {
    await this.#slot.idle();
  }

  #apply(event: PodWorkerEvent): void {
    const next = nextState(this.#state, event);
    if (next === this.#state) return;
    if (next.phase !== this.#state.phase) this.#phaseSinceMs = this.#deps.clock.now();
    this.#state = next;
    if (next.phase === 'terminated') this.#terminated.resolve();
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
      await this.#runPhase(AbortSignal.any([pass.signal, this.#life]));
      this.#lastError = undefined;
    } catch (error) {
      // A pass that was asked to stop is followed by the next one at once.
      if (pass.signal.aborted || this.#life.aborted) return;
      const fields = { pod: this.#name(), phase: this.#state.phase, error };
      this.#deps.log.error('cannot sync the pod, will try again', fields);
      const inARow = (this.#lastError?.consecutive ?? 0) + 1;
      const cause = podCauseOf(error);
      this.#lastError = { error: errorText(error), ...(cause && { cause }), atMs: this.#deps.clock.now(), consecutive: inARow };
      this.#wakeIn(retryDelay(error, inARow, this.#deps.random.fraction()));
    } finally {
      this.#pass = undefined;
      this.#passSinceMs = undefined;
    }
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
   * As in kubelet, a pod that came back while it ended goes on with its dead containers: they count as restarted. One
   * that does not restart what has ended, or that is rejected, begins with nothing.
   */
  #isRestarted(): boolean {
    const successor = this.#successor;
    return successor?.spec.restartPolicy === 'Always' && this.#deps.isAdmissible(successor);
  }

  async #sync(signal: AbortSignal): Promise<void> {
    const outcome = await this.#deps.syncer.sync(this.#pod, signal);
    if (outcome.kind === 'ended') {
      const graceSeconds = specGracePeriod(this.#pod);
      const { failure: verdict } = outcome;
      return this.#advance({ type: 'podEnded', graceSeconds, ...(verdict && { failure: verdict }) });
    }
    const fraction = this.#deps.random.fraction();
    const regular = outcome.failed
      ? regularRetryDelay(fraction)
      : this.#deps.syncFrequencyMs * (1 + RESYNC_JITTER * fraction);
    const { resyncAfterMs: lookAgainInMs } = outcome;
    if (lookAgainInMs !== undefined) this.#backoffEndsMs = this.#deps.clock.now() + lookAgainInMs;
    this.#wakeIn(Math.min(lookAgainInMs ?? regular, regular));
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
      () => undefined, // a turn came first, or the agent ends
    );
  }

  /** Each pass over a terminating pod gives its containers what is asked for; a shorter wish begins a new pass. */
  #graceEndsMs(): number | undefined {
    if (this.#state.phase !== 'terminating' || this.#passSinceMs === undefined) return undefined;
    return Math.max(this.#passSinceMs, this.#phaseSinceMs) + this.#state.graceSeconds * 1000;
  }

  #name(): string {
    const { namespace, name } = this.#pod.metadata;
    return name === '' ? `with UID ${this.uid}` : `${namespace}/${name}`;
  }
}
