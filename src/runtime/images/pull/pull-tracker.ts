import type { LayerState, PullProgress, PullWatcher } from '../image-puller.ts';

/** The progress of a pull. Late subscribers receive the current state. */
export class PullTracker {
  readonly #watchers = new Set<PullWatcher>();
  #resolved: Extract<PullProgress, { readonly kind: 'resolved' }> | undefined;
  readonly #layers = new Map<string, LayerState>();

  /** Returns the unsubscribe function. */
  add(watch: PullWatcher): () => void {
    this.#watchers.add(watch);
    if (this.#resolved) watch(this.#resolved);
    for (const [digest, state] of this.#layers) watch({ kind: 'layer', digest, state });
    return () => this.#watchers.delete(watch);
  }

  resolved(progress: Omit<Extract<PullProgress, { readonly kind: 'resolved' }>, 'kind'>): void {
    this.#resolved = { kind: 'resolved', ...progress };
    this.#notify(this.#resolved);
    for (const { digest } of progress.layers) this.layer(digest, { phase: 'waiting' });
  }

  layer(digest: string, state: LayerState): void {
    this.#layers.set(digest, state);
    this.#notify({ kind: 'layer', digest, state });
  }

  #notify(progress: PullProgress): void {
    for (const watch of this.#watchers) watch(progress);
  }
}
