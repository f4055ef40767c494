import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { Clock } from '../../host/clock.ts';
import type { DiskUsage, Snapshotter } from '../storage/snapshotter.ts';

/** As old as this a size may be in any case; kubelet looks every ten seconds. */
const MIN_FRESH_MS = 10_000;
/** Measuring takes at most a twentieth of the time, however large a layer is. */
const REST_FACTOR = 20;

export interface LayerSize extends DiskUsage {
  /** When it was measured, by the wall clock. */
  readonly atMs: number;
}

interface Measured {
  readonly size: LayerSize;
  /** On the monotonic clock. */
  readonly freshUntil: number;
}

/**
 * What writable layers hold. To know it a whole tree has to be walked, so a size is kept for a while, longer for a large
 * tree, and one tree is walked at a time. Who asks gets the last size at once while the next is found out; only the first
 * of a container is waited for.
 */
export class LayerSizes {
  readonly #clock: Clock;
  readonly #snapshots: Pick<Snapshotter, 'usage'>;
  readonly #measured = new Map<string, Measured>();
  readonly #measuring = new Map<string, Promise<LayerSize | undefined>>();
  readonly #oneByOne = new KeyedMutex();

  constructor({ clock, snapshots }: { readonly clock: Clock; readonly snapshots: Pick<Snapshotter, 'usage'> }) {
    this.#clock = clock;
    this.#snapshots = snapshots;
  }

  /** `undefined` when it cannot be measured: mostly because it is gone meanwhile. */
  async size(containerId: string): Promise<LayerSize | undefined> {
    const known = this.#measured.get(containerId);
    if (known && this.#clock.monotonic() < known.freshUntil) return known.size;
    const next = this.#measuring.get(containerId) ?? this.#measure(containerId);
    return known ? known.size : next;
  }

  keepOnly(isThere: (containerId: string) => boolean): void {
    for (const id of this.#measured.keys()) if (!isThere(id)) this.#measured.delete(id);
  }

  #measure(id: string): Promise<LayerSize | undefined> {
    const measuring = this.#oneByOne
      .run('', () => this.#walk(id))
      .catch(() => undefined)
      .finally(() => this.#measuring.delete(id));
    this.#measuring.set(id, measuring);
    return measuring;
  }

  async #walk(id: string): Promise<LayerSize> {
    const [atMs, started] = [this.#clock.now(), this.#clock.monotonic()];
    const size = { ...(await this.#snapshots.usage(id)), atMs };
    const ended = this.#clock.monotonic();
    this.#measured.set(id, { size, freshUntil: ended + Math.max(MIN_FRESH_MS, REST_FACTOR * (ended - started)) });
    return size;
  }
}
