import { GrowingPause } from '../../base/growing-pause.ts';
import type { ContainerEnd, OciRuntime } from '../oci/oci-runtime.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import { type ContainerDeps, hasOwnPidNamespace, monitoredName, runtimeOf } from './container-deps.ts';
import type { ContainerLedger } from './container-ledger.ts';
import { endAsTold, nanoseconds } from './container-life.ts';
import { SIGKILL } from './stop-signal.ts';

export type LiveDeps = Pick<ContainerDeps, 'clock' | 'random' | 'log' | 'paths' | 'runtimes'> & {
  readonly ledger: ContainerLedger;
  /** Tells everybody that a container has ended, once its record says so. Never rejects. */
  readonly tellEnd: (record: ContainerRecord) => Promise<void>;
};

/** A container that runs, as far as anybody waits for its end. */
export interface LiveContainer {
  /** Its record says so. */
  readonly exited: Promise<void>;
  /** … and the OCI runtime has nothing of it any more. Never rejects. */
  readonly settled: Promise<void>;
  /** It was asked to end: once is enough. */
  stopSignalled: boolean;
}

/** A monitor and its runtime need far less; a process that nobody can kill needs for ever. */
const CLEAN_UP_MS = 60_000;

/** One watcher for each container that runs. */
export class LiveContainers {
  readonly #deps: LiveDeps;
  readonly #live = new Map<string, LiveContainer>();
  /** Those of which the OCI runtime has nothing any more. */
  readonly #forgotten = new Set<string>();
  readonly #closing = new AbortController();

  constructor(deps: LiveDeps) {
    this.#deps = deps;
  }

  get(id: string): LiveContainer | undefined {
    return this.#live.get(id);
  }

  /** Whether a removal can leave the OCI runtime alone; only the next one is told so. */
  takeForgotten(id: string): boolean {
    return this.#forgotten.delete(id);
  }

  /** Also for one that has ended already. */
  watch(record: ContainerRecord): LiveContainer {
    const exited = Promise.withResolvers<void>();
    exited.promise.catch(() => {}); // nobody may be waiting
    const settled = this.#follow(record, exited).finally(() => this.#live.delete(record.id));
    const live: LiveContainer = { exited: exited.promise, settled, stopSignalled: false };
    this.#live.set(record.id, live);
    return live;
  }

  /** Stops watching; the containers go on. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#live.values()].map(({ settled }) => settled));
  }

  async #follow(record: ContainerRecord, exited: PromiseWithResolvers<void>): Promise<void> {
    const { runtimes, paths, tellEnd } = this.#deps;
    try {
      const runtime = runtimeOf(runtimes, record);
      const name = monitoredName(paths, record.id);
      const end = await this.#untilDone(() => runtime.ended(name, this.#closing.signal));
      const ended = await this.#untilDone(() => this.#end(record.id, runtime, end));
      if (ended) await tellEnd(ended);
      exited.resolve();
      await this.#forget(record.id, runtime);
    } catch (error) {
      exited.reject(error); // nobody watches any more
    }
  }

  async #end(id: string, runtime: OciRuntime, end: ContainerEnd): Promise<ContainerRecord | undefined> {
    const { ledger, clock, log, paths } = this.#deps;
    const record = ledger.all.get(id);
    if (record === undefined) return undefined;
    if (end.kind === 'monitorLost') log.warn('the monitor of a container is gone', { containerId: id });
    // Before the record says that it has ended: else who starts anew would not know that something is left.
    if (end.kind === 'monitorLost' || !hasOwnPidNamespace(record)) {
      await runtime.kill(monitoredName(paths, id), SIGKILL, { all: true });
    }
    return ledger.change(id, endAsTold(end, nanoseconds(clock.now())));
  }

  /** A container that has ended must not be shown as running for ever: a full disk gets space again. */
  async #untilDone<T>(work: () => Promise<T>): Promise<T> {
    const { clock, random, log } = this.#deps;
    const { signal } = this.#closing;
    const pause = new GrowingPause({ firstMs: 200, maxMs: 30_000, jitter: 0.1 });
    for (;;) {
      try {
        return await work();
      } catch (error) {
        signal.throwIfAborted();
        log.error('cannot see or record the end of a container', { error });
        await clock.sleep(pause.next(random.fraction()), signal);
      }
    }
  }

  /** What fails here is done again by the removal. */
  async #forget(id: string, runtime: OciRuntime): Promise<void> {
    const { clock, log, paths } = this.#deps;
    try {
      await runtime.remove(monitoredName(paths, id), clock.deadline(CLEAN_UP_MS));
      this.#forgotten.add(id);
    } catch (error) {
      log.warn('cannot remove the state of a container that has ended', { containerId: id, error });
    }
  }
}
