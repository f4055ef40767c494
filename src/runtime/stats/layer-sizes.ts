import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { Clock } from '../../host/clock.ts';
import type { DiskUsage, Snapshotter } from '../storage/snapshotter.ts';

/** A size stays valid at least this long; kubelet polls every ten seconds. */
const MIN_FRESH_MS = 10_000;
/** Measuring takes at most 1/20 of the time, however large a layer is. */
const REST_FACTOR = 20;

export interface LayerSize extends DiskUsage {
  /** Wall-clock time of the measurement. */
  readonly atMs: number;
}

interface Measured {
  readonly size: LayerSize;
  /** Monotonic time. */
  readonly freshUntil: number;
}

/**
 * Sizes of writable layers. Measuring walks the whole tree, so a size is cached, longer for a large tree, and one tree is
 * walked at a time. Callers get the cached size while the next one is measured; only the first measurement of a container
 * is awaited.
 */
export class LayerSizes {
  readonly #clock: Clock;
  readonly #snapshots: Pick<Snapshotter, 'usage'>;
  readonly #measured = new Map<string, Measured>();
  readonly #measuring = new Map<string, Promise<LayerSize | undefined>>();
  readonly #walks = new KeyedMutex();

  constructor({ clock, snapshots }: { readonly clock: Clock; readonly snapshots: Pick<Snapshotter, 'usage'> }) {
    this.#clock = clock;
    this.#snapshots = snapshots;
  }

  /** `undefined` if it cannot be measured, mostly because the container is gone. */
  async size(containerId: string): Promise<LayerSize | undefined> {
    const known = this.#measured.get(containerId);
    if (known && this.#clock.monotonic() < known.freshUntil) return known.size;
    const next = this.#measuring.get(containerId) ?? this.#measure(containerId);
    return known ? known.size : next;
  }

  retain(exists: (containerId: string) => boolean): void {
    for (const id of this.#measured.keys()) if (!exists(id)) this.#measured.delete(id);
  }

  #measure(id: string): Promise<LayerSize | undefined> {
    const measuring = this.#walks
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
