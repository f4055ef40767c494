import { ExponentialBackoff } from '../../base/exponential-backoff.ts';
import type { ContainerExit, OciRuntime } from '../oci/oci-runtime.ts';
import { runtimeForRecord } from '../oci/runtime-for-record.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import { type ContainerDeps, hasOwnPidNamespace, monitoredName } from './container-deps.ts';
import { monitoredExit, nanoseconds } from './container-state.ts';
import type { ContainerStore } from './container-store.ts';
import { SIGKILL } from './stop-signal.ts';

export type ExitWatcherDeps = Pick<ContainerDeps, 'clock' | 'random' | 'log' | 'paths' | 'runtimes'> & {
  readonly store: ContainerStore;
  /** Called after an exit is recorded. Never rejects. */
  readonly notifyExit: (record: ContainerRecord) => Promise<void>;
};

/** A running container whose exit is awaited. */
export interface WatchedContainer {
  /** Resolves when the exit is recorded. */
  readonly exited: Promise<void>;
  /** Resolves when the container is also deleted from the OCI runtime. Never rejects. */
  readonly settled: Promise<void>;
  /** The stop signal was sent; it is sent once. */
  stopSignalled: boolean;
}

/** Monitor and runtime need far less; a process that cannot be killed never ends. */
const DELETE_TIMEOUT_MS = 60_000;

/** Watches every running container and records its exit. */
export class ExitWatcher {
  readonly #deps: ExitWatcherDeps;
  readonly #watched = new Map<string, WatchedContainer>();
  /** Ids that the OCI runtime no longer knows. */
  readonly #deletedFromRuntime = new Set<string>();
  readonly #closing = new AbortController();

  constructor(deps: ExitWatcherDeps) {
    this.#deps = deps;
  }

  get(id: string): WatchedContainer | undefined {
    return this.#watched.get(id);
  }

  /** Whether a removal can skip the OCI runtime. Returns `true` once per container. */
  takeDeletedFromRuntime(id: string): boolean {
    return this.#deletedFromRuntime.delete(id);
  }

  /** The container may have exited already. */
  watch(record: ContainerRecord): WatchedContainer {
    const exited = Promise.withResolvers<void>();
    exited.promise.catch(() => {}); // there may be no waiter
    const settled = this.#follow(record, exited).finally(() => this.#watched.delete(record.id));
    const watched: WatchedContainer = { exited: exited.promise, settled, stopSignalled: false };
    this.#watched.set(record.id, watched);
    return watched;
  }

  /** Stops watching; the containers keep running. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#watched.values()].map(({ settled }) => settled));
  }

  async #follow(record: ContainerRecord, exited: PromiseWithResolvers<void>): Promise<void> {
    const { runtimes, paths, notifyExit } = this.#deps;
    try {
      const runtime = runtimeForRecord(runtimes, record);
      const name = monitoredName(paths, record.id);
      const end = await this.#retryUntilDone(() => runtime.wait(name, this.#closing.signal));
      const ended = await this.#retryUntilDone(() => this.#recordExit(record.id, runtime, end));
      if (ended) await notifyExit(ended);
      exited.resolve();
      await this.#deleteFromRuntime(record.id, runtime);
    } catch (error) {
      exited.reject(error); // closed: the exit is no longer watched
    }
  }

  async #recordExit(id: string, runtime: OciRuntime, end: ContainerExit): Promise<ContainerRecord | undefined> {
    const { store, clock, log, paths } = this.#deps;
    const record = store.all.get(id);
    if (record === undefined) return undefined;
    if (end.kind === 'monitorLost') log.warn('container monitor is gone', { containerId: id });
    // Before the exit is recorded: recovery after a crash would not look for leftover processes of an exited container.
    if (end.kind === 'monitorLost' || !hasOwnPidNamespace(record)) {
      await runtime.kill(monitoredName(paths, id), SIGKILL, { all: true });
    }
    return store.applyEvent(id, monitoredExit(end, nanoseconds(clock.now())));
  }

  /** Retries until it works: an exited container must not stay listed as running because a disk was full for a while. */
  async #retryUntilDone<T>(work: () => Promise<T>): Promise<T> {
    const { clock, random, log } = this.#deps;
    const { signal } = this.#closing;
    const pause = new ExponentialBackoff({ firstMs: 200, maxMs: 30_000, jitter: 0.1 });
    for (;;) {
      try {
        return await work();
      } catch (error) {
        signal.throwIfAborted();
        log.error('cannot observe or record the exit of a container', { error });
        await clock.sleep(pause.next(random.fraction()), signal);
      }
    }
  }

  /** If it fails, removing the container tries again. */
  async #deleteFromRuntime(id: string, runtime: OciRuntime): Promise<void> {
    const { clock, log, paths } = this.#deps;
    try {
      await runtime.remove(monitoredName(paths, id), clock.deadline(DELETE_TIMEOUT_MS));
      this.#deletedFromRuntime.add(id);
    } catch (error) {
      log.warn('cannot delete exited container from the OCI runtime', { containerId: id, error });
    }
  }
}
