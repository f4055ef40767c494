import { abortable } from '../../../base/abortable.ts';
import type { PullWatcher } from '../image-puller.ts';
import type { StoredImage } from '../image-store.ts';
import { PullStage } from './pull-stage.ts';

/** A pull that goes on for everybody who asked for it. */
interface Shared {
  readonly done: Promise<StoredImage>;
  readonly stage: PullStage;
  readonly end: AbortController;
  waiting: number;
}

/** Pulls of the same image at the same time are one, which ends when nobody waits for it any more. */
export class SharedPulls {
  readonly #running = new Map<string, Shared>();

  /** `start` is called unless the same is going on; it is told to end by its signal. */
  async join(
    key: string,
    start: (stage: PullStage, signal: AbortSignal) => Promise<StoredImage>,
    signal: AbortSignal,
    watch?: PullWatcher,
  ): Promise<StoredImage> {
    signal.throwIfAborted();
    const pull = this.#running.get(key) ?? this.#begin(key, start);
    pull.waiting++;
    const unwatch = watch && pull.stage.add(watch);
    try {
      return await abortable(pull.done, signal);
    } finally {
      unwatch?.();
      if (--pull.waiting === 0) await this.#leave(key, pull);
    }
  }

  #begin(key: string, start: (stage: PullStage, signal: AbortSignal) => Promise<StoredImage>): Shared {
    const [stage, end] = [new PullStage(), new AbortController()];
    const pull: Shared = { done: start(stage, end.signal), stage, end, waiting: 0 };
    pull.done.catch(() => {}); // told to those who wait; there may be none any more
    this.#running.set(key, pull);
    return pull;
  }

  /** Who comes from now on begins anew. The last to go waits until nothing more is written. */
  async #leave(key: string, pull: Shared): Promise<void> {
    if (this.#running.get(key) === pull) this.#running.delete(key);
    pull.end.abort(new DOMException('nobody waits for this pull any more', 'AbortError'));
    await pull.done.catch(() => {});
  }
}
