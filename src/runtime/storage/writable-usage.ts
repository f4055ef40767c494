import { mapInBatches } from '../../base/map-in-batches.ts';
import type { Clock } from '../../host/clock.ts';
import type { DiskUsage, Snapshotter } from './snapshotter.ts';

/** Maximum age of the result: containerd updates as often. */
const MAX_AGE_MS = 10_000;
/** Directories walked in parallel. */
const CONCURRENCY = 4;

/** Disk usage of the writable layers of all containers. Walked on demand and cached for a moment. */
export class WritableUsage {
  readonly #clock: Clock;
  readonly #snapshots: Pick<Snapshotter, 'list' | 'usage'>;
  #last: { readonly atMs: number; readonly usage: Promise<DiskUsage> } | undefined;

  constructor(clock: Clock, snapshots: Pick<Snapshotter, 'list' | 'usage'>) {
    this.#clock = clock;
    this.#snapshots = snapshots;
  }

  async sum(signal: AbortSignal): Promise<DiskUsage> {
    signal.throwIfAborted();
    const now = this.#clock.now();
    if (this.#last === undefined || now - this.#last.atMs >= MAX_AGE_MS || now < this.#last.atMs) {
      const usage = this.#walk();
      this.#last = { atMs: now, usage };
      usage.catch(() => {
        if (this.#last?.usage === usage) this.#last = undefined;
      });
    }
    return this.#last.usage;
  }

  async #walk(): Promise<DiskUsage> {
    const found = await mapInBatches(await this.#snapshots.list(), CONCURRENCY, (id) => this.#snapshots.usage(id));
    return {
      bytes: found.reduce((sum, { bytes }) => sum + bytes, 0),
      inodes: found.reduce((sum, { inodes }) => sum + inodes, 0),
    };
  }
}
