import { abortable } from '../../base/abortable.ts';
import type { LockedFile, LockFiles } from '../lock-files.ts';

/** Lock files of an in-memory machine. */
export class MemoryLockFiles implements LockFiles {
  /** Resolves when the lock is released. */
  readonly #held = new Map<string, PromiseWithResolvers<void>>();
  readonly #watchers = new Map<string, Set<() => void>>();

  async acquire(path: string, signal: AbortSignal): Promise<LockedFile> {
    signal.throwIfAborted();
    for (const notify of this.#watchers.get(path) ?? []) notify();
    for (let held = this.#held.get(path); held !== undefined; held = this.#held.get(path)) {
      await abortable(held.promise, signal);
    }
    const released = Promise.withResolvers<void>();
    this.#held.set(path, released);
    return {
      untilContended: (end) => this.#untilOpened(path, end),
      [Symbol.asyncDispose]: async () => {
        this.#held.delete(path);
        released.resolve();
      },
    };
  }

  async #untilOpened(path: string, signal: AbortSignal): Promise<void> {
    const watchers = this.#watchers.get(path) ?? new Set();
    this.#watchers.set(path, watchers);
    const { promise, resolve } = Promise.withResolvers<void>();
    watchers.add(resolve);
    try {
      await abortable(promise, signal);
    } finally {
      watchers.delete(resolve);
    }
  }
}
