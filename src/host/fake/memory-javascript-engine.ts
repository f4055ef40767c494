import type { CollectionPause, HeapSpace, JavaScriptEngine } from '../javascript-engine.ts';

/** An engine with figures that a test sets. */
export class MemoryJavaScriptEngine implements JavaScriptEngine {
  spaces: readonly HeapSpace[] = [{ name: 'old_space', usedBytes: 1024, sizeBytes: 4096 }];
  times = { activeMs: 0, idleMs: 0 };
  lagMs = 0;
  readonly #listeners = new Set<(pause: CollectionPause) => void>();

  heapSpaces(): readonly HeapSpace[] {
    return this.spaces;
  }

  eventLoopTimes(): { readonly activeMs: number; readonly idleMs: number } {
    return this.times;
  }

  async timerLagMs(): Promise<number> {
    return this.lagMs;
  }

  observePauses(listener: (pause: CollectionPause) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  pause(pause: CollectionPause): void {
    for (const listener of this.#listeners) listener(pause);
  }
}
