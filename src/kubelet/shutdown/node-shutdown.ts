import type { Pod } from '../../api/generated/core-v1.ts';
import { aborted } from '../../base/aborted.ts';
import { errorText } from '../../base/error-text.ts';
import { ExponentialBackoff } from '../../base/exponential-backoff.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { InhibitLock, LoginConnection, LoginManager } from '../../host/login-manager.ts';
import type { NodeEvents } from '../node/node-event.ts';
import { type EndPodsDeps, endPods } from './end-pods.ts';
import { ensureInhibitDelay } from './inhibit-delay.ts';
import { type ShutdownPeriod, type ShutdownSettings, shutdownPeriods, totalSeconds } from './shutdown-groups.ts';
import { ShutdownState, type ShutdownTimes } from './shutdown-state.ts';

/** A lost connection to logind is opened again after this time; the delay grows while logind cannot be reached. */
const RECONNECT = { firstMs: 1_000, maxMs: 60_000, jitter: 0 };
const INHIBIT_REASON = { who: 'kubelet', why: 'Kubelet needs time to handle node shutdown' };

export interface NodeShutdownDeps {
  readonly loginManager: LoginManager;
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: NodeEvents;
}

/** What the shutdown does with the pods of the node. */
export interface ShutdownPods extends Pick<EndPodsDeps, 'kill' | 'released'> {
  /** Pods that are admitted and have not terminated. */
  active(): readonly Pod[];
}

/**
 * Ends the pods before the machine shuts down.
 *
 * 1. An inhibitor lock of logind delays each shutdown until the pods have ended.
 * 2. While the machine is about to shut down, no pod is admitted, and the node is not ready.
 * 3. A cancelled shutdown ends no further pods, and the lock is taken again.
 */
export class NodeShutdown {
  readonly #deps: NodeShutdownDeps;
  readonly #periods: readonly ShutdownPeriod[];
  readonly #state: ShutdownState | undefined;
  readonly #listeners = new Set<() => void>();
  #isShuttingDown = false;
  #times: ShutdownTimes = {};
  #lock: InhibitLock | undefined;
  /** Handles one event of logind after the other. */
  #handling: Promise<void> = Promise.resolve();
  /** The pods are being ended, or have ended. */
  #ending: { readonly abort: AbortController; readonly done: Promise<void> } | undefined;

  constructor(settings: ShutdownSettings | undefined, rootDir: string, deps: NodeShutdownDeps) {
    this.#deps = deps;
    this.#periods = settings ? shutdownPeriods(settings) : [];
    this.#state = settings?.isPriorityOn && this.#isOn ? new ShutdownState(deps.fs, rootDir) : undefined;
  }

  get isShuttingDown(): boolean {
    return this.#isShuttingDown;
  }

  /** When the last shutdown began and ended; `undefined`: these times are not kept. */
  get times(): ShutdownTimes | undefined {
    return this.#state && this.#times;
  }

  /** Why the node is not ready, in kubelet's words; `undefined`: it is. */
  notReadyReason(): string | undefined {
    return this.#isShuttingDown ? 'node is shutting down' : undefined;
  }

  /** Calls the listener after each change. Returns the function that ends the subscription. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Delays shutdowns until the signal aborts. Returns at once when none is to be delayed. */
  async run(pods: ShutdownPods, signal: AbortSignal): Promise<void> {
    if (!this.#isOn) return;
    const { clock, log } = this.#deps;
    await this.#readTimes();
    const backoff = new ExponentialBackoff(RECONNECT);
    let reported: string | undefined;
    while (!signal.aborted) {
      try {
        await this.#follow(pods, () => backoff.reset(), signal);
        reported = undefined;
      } catch (error) {
        const text = errorText(error);
        if (!signal.aborted && text !== reported)
          log.warn('cannot delay shutdowns of the machine, will retry', { error });
        reported = text;
      }
      await clock.sleep(backoff.next(0), signal).catch(() => undefined);
    }
  }

  /** Ends the pods as before a shutdown of the machine. For machines without logind. */
  async shutDown(pods: ShutdownPods): Promise<void> {
    this.#start(pods);
    await this.#ending?.done;
  }

  get #isOn(): boolean {
    return this.#periods.length > 0;
  }

  /** Resolves when the connection is lost or the signal aborts. */
  async #follow(pods: ShutdownPods, onConnected: () => void, signal: AbortSignal): Promise<void> {
    const { loginManager } = this.#deps;
    const pending: boolean[] = [];
    let onShutdown = (isStarting: boolean): void => void pending.push(isStarting);
    const connection = await loginManager.connect((isStarting) => onShutdown(isStarting), signal);
    try {
      await ensureInhibitDelay(connection, totalSeconds(this.#periods), this.#deps, signal);
      await this.#takeLock(connection, signal);
      onConnected();
      onShutdown = (isStarting) => this.#onShutdown(isStarting, pods, connection, signal);
      for (const isStarting of pending) onShutdown(isStarting);
      await Promise.race([connection.closed, aborted(signal)]);
    } finally {
      connection.close();
      if (signal.aborted) await this.#releaseLock();
    }
  }

  #onShutdown(isStarting: boolean, pods: ShutdownPods, connection: LoginConnection, signal: AbortSignal): void {
    const handle = async (): Promise<void> => (isStarting ? this.#start(pods) : this.#cancel(connection, signal));
    this.#handling = this.#handling.then(handle).catch((error: unknown) => {
      this.#deps.log.warn('cannot delay the next shutdown of the machine', { error });
      connection.close(); // a new connection takes the lock again
    });
  }

  #start(pods: ShutdownPods): void {
    if (this.#ending) return;
    this.#deps.events.record('Normal', 'Shutdown', 'Shutdown manager detected shutdown event');
    this.#setShuttingDown(true);
    const abort = new AbortController();
    this.#ending = { abort, done: this.#end(pods, abort.signal) };
  }

  async #cancel(connection: LoginConnection, signal: AbortSignal): Promise<void> {
    this.#deps.events.record('Normal', 'Shutdown', 'Shutdown manager detected shutdown cancellation');
    const ending = this.#ending;
    ending?.abort.abort();
    await ending?.done;
    this.#ending = undefined;
    this.#setShuttingDown(false);
    await this.#takeLock(connection, signal);
  }

  /** Ends the pods and lets the shutdown go on. Never rejects. */
  async #end(pods: ShutdownPods, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    const startMs = clock.now();
    await this.#writeTimes({ startMs });
    await endPods(this.#periods, pods.active(), { ...pods, clock, log }, signal);
    await this.#writeTimes({ startMs, endMs: clock.now() });
    await this.#releaseLock();
    log.info('the pods have ended for the shutdown of the node', { cancelled: signal.aborted });
  }

  #setShuttingDown(isShuttingDown: boolean): void {
    if (this.#isShuttingDown === isShuttingDown) return;
    this.#isShuttingDown = isShuttingDown;
    for (const listener of this.#listeners) listener();
  }

  async #takeLock(connection: LoginConnection, signal: AbortSignal): Promise<void> {
    const former = this.#lock;
    this.#lock = await connection.delayShutdown(INHIBIT_REASON, signal);
    await former?.release();
  }

  async #releaseLock(): Promise<void> {
    const lock = this.#lock;
    this.#lock = undefined;
    await lock
      ?.release()
      .catch((error: unknown) => this.#deps.log.warn('cannot release the inhibitor lock', { error }));
  }

  async #readTimes(): Promise<void> {
    try {
      this.#times = (await this.#state?.read()) ?? {};
    } catch (error) {
      this.#deps.log.error('cannot read the times of the last graceful shutdown', { error });
    }
  }

  async #writeTimes(times: ShutdownTimes): Promise<void> {
    this.#times = times;
    await this.#state?.write(times).catch((error: unknown) => {
      this.#deps.log.error('cannot write the times of the graceful shutdown', { error });
    });
  }
}
