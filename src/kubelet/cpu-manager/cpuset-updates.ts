import { ChangeSignal } from '../../base/change-signal.ts';
import type { CpuSet } from '../../base/cpu-set.ts';
import { ExponentialBackoff } from '../../base/exponential-backoff.ts';
import type { Log } from '../../base/log.ts';
import { LruMap } from '../../base/lru-map.ts';
import { mapInBatches } from '../../base/map-in-batches.ts';
import type { Clock } from '../../host/clock.ts';

/** Updates that are in flight at once. */
const BATCH = 10;
const FIRST_RETRY_MS = 250;
const MAX_CREATED = 10_000;

export interface RunningContainer {
  readonly uid: string;
  readonly name: string;
  readonly id: string;
}

/** The containers of this node, and the runtime that changes them. */
export interface ContainerCpusets {
  running(): readonly RunningContainer[];
  /** Sets the CPUs of a running container. */
  update(containerId: string, cpus: string, signal: AbortSignal): Promise<void>;
}

export interface CpusetUpdatesDeps {
  readonly containers: ContainerCpusets;
  /** The CPUs that the container should have. */
  readonly wanted: (uid: string, container: string) => CpuSet;
  readonly periodMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Keeps the CPUs of running containers up to date.
 *
 * 1. A change is applied at once. The period is the safety net, for changes that no call of `wake` announced.
 * 2. A container is updated only if its CPUs differ from those that it was created with or got last. Containers of a previous
 *    process are updated once.
 * 3. A failed update is retried with back-off, at the latest after the period, until the container is gone.
 */
export class CpusetUpdates {
  readonly #deps: CpusetUpdatesDeps;
  readonly #changes = new ChangeSignal();
  /** By container id. */
  readonly #applied = new Map<string, string>();
  /** What the newest container of a pod and name was created with. A container that is not found is updated once more. */
  readonly #created = new LruMap<string, string>(MAX_CREATED);

  constructor(deps: CpusetUpdatesDeps) {
    this.#deps = deps;
  }

  /** Assignments, or the running containers, may have changed. */
  wake(): void {
    this.#changes.notify();
  }

  /** A container is about to be created with these CPUs. */
  onCreate(uid: string, container: string, cpus: string): void {
    this.#created.set(`${uid}/${container}`, cpus);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, periodMs } = this.#deps;
    const backoff = new ExponentialBackoff({ firstMs: Math.min(FIRST_RETRY_MS, periodMs), maxMs: periodMs, jitter: 0 });
    while (!signal.aborted) {
      const isComplete = await this.#updateAll(signal);
      if (isComplete) backoff.reset();
      const waitMs = isComplete ? periodMs : backoff.next(0);
      await this.#changes.next(AbortSignal.any([signal, clock.deadline(waitMs)]));
    }
  }

  /** Returns whether all containers have their CPUs. */
  async #updateAll(signal: AbortSignal): Promise<boolean> {
    const running = this.#deps.containers.running();
    const ids = new Set(running.map(({ id }) => id));
    for (const id of this.#applied.keys()) if (!ids.has(id)) this.#applied.delete(id);
    const results = await mapInBatches(running, BATCH, (container) => this.#update(container, signal));
    return results.every((isUpdated) => isUpdated);
  }

  async #update({ uid, name, id }: RunningContainer, signal: AbortSignal): Promise<boolean> {
    const cpus = this.#deps.wanted(uid, name).toString();
    const current = this.#applied.get(id) ?? this.#created.get(`${uid}/${name}`);
    if (cpus === '' || cpus === current) {
      if (current !== undefined) this.#applied.set(id, current);
      return true;
    }
    try {
      await this.#deps.containers.update(id, cpus, signal);
      this.#applied.set(id, cpus);
      return true;
    } catch (error) {
      if (current !== undefined) this.#applied.set(id, current);
      if (!signal.aborted) this.#deps.log.warn('failed to update container', { containerId: id, cpuSet: cpus, error });
      return false;
    }
  }
}
