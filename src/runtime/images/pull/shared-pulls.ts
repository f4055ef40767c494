import { abortable } from '../../../base/abortable.ts';
import type { PullWatcher } from '../image-puller.ts';
import type { StoredImage } from '../image-store.ts';
import { PullTracker } from './pull-tracker.ts';

/** A pull that all callers of the same image wait for. */
interface SharedPull {
  readonly done: Promise<StoredImage>;
  readonly tracker: PullTracker;
  readonly end: AbortController;
  waiting: number;
}

/** Shares concurrent pulls of the same image; a pull is aborted when its last caller leaves. */
export class SharedPulls {
  readonly #running = new Map<string, SharedPull>();

  /** Calls `start` unless the same pull is running. The signal given to `start` aborts it. */
  async join(
    key: string,
    start: (tracker: PullTracker, signal: AbortSignal) => Promise<StoredImage>,
    signal: AbortSignal,
    watch?: PullWatcher,
  ): Promise<StoredImage> {
    signal.throwIfAborted();
    const pull = this.#running.get(key) ?? this.#begin(key, start);
    pull.waiting++;
    const unwatch = watch && pull.tracker.add(watch);
    try {
      return await abortable(pull.done, signal);
    } finally {
      unwatch?.();
      if (--pull.waiting === 0) await this.#leave(key, pull);
    }
  }

  #begin(key: string, start: (tracker: PullTracker, signal: AbortSignal) => Promise<StoredImage>): SharedPull {
    const [tracker, end] = [new PullTracker(), new AbortController()];
    const pull: SharedPull = { done: start(tracker, end.signal), tracker, end, waiting: 0 };
    pull.done.catch(() => {}); // reported to the callers; there may be none left
    this.#running.set(key, pull);
    return pull;
  }

  /** Later callers start a new pull. The last caller waits until nothing more is written. */
  async #leave(key: string, pull: SharedPull): Promise<void> {
    if (this.#running.get(key) === pull) this.#running.delete(key);
    pull.end.abort(new DOMException('no caller waits for this pull any more', 'AbortError'));
    await pull.done.catch(() => {});
  }
}
