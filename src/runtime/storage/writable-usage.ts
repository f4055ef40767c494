import { mapInBatches } from '../../base/map-in-batches.ts';
import type { Clock } from '../../host/clock.ts';
import type { DiskUsage, Snapshotter } from './snapshotter.ts';

/** The age from which the usage is measured again: containerd updates as often. */
const MIN_FRESH_MS = 10_000;
/** Measuring takes at most 1/20 of the time, however many layers there are. */
const REST_FACTOR = 20;
/** Directories walked in parallel. */
const CONCURRENCY = 4;

/**
 * Disk usage of the writable layers of all containers. Walked on demand: callers get the last result while the next one is
 * measured; only the first measurement is awaited.
 */
export class WritableUsage {
  readonly #clock: Clock;
  readonly #snapshots: Pick<Snapshotter, 'list' | 'usage'>;
  #last: { readonly usage: DiskUsage; readonly freshUntilMs: number } | undefined;
  #walking: Promise<DiskUsage> | undefined;

  constructor(clock: Clock, snapshots: Pick<Snapshotter, 'list' | 'usage'>) {
    this.#clock = clock;
    this.#snapshots = snapshots;
  }

  async sum(signal: AbortSignal): Promise<DiskUsage> {
    signal.throwIfAborted();
    if (this.#last && this.#clock.monotonic() < this.#last.freshUntilMs) return this.#last.usage;
    this.#walking ??= this.#walk().finally(() => {
      this.#walking = undefined;
    });
    if (!this.#last) return this.#walking;
    this.#walking.catch(() => undefined); // the last result stays
    return this.#last.usage;
  }

  async #walk(): Promise<DiskUsage> {
    const startedMs = this.#clock.monotonic();
    const found = await mapInBatches(await this.#snapshots.list(), CONCURRENCY, (id) => this.#snapshots.usage(id));
    const usage = {
      bytes: found.reduce((sum, { bytes }) => sum + bytes, 0),
      inodes: found.reduce((sum, { inodes }) => sum + inodes, 0),
    };
    const endedMs = this.#clock.monotonic();
    this.#last = { usage, freshUntilMs: endedMs + Math.max(MIN_FRESH_MS, REST_FACTOR * (endedMs - startedMs)) };
    return usage;
  }
}
