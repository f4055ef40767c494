import type { LayerState, PullProgress, PullWatcher } from '../image-puller.ts';

/** How far a pull is. Who looks on later is told what there was. */
export class PullStage {
  readonly #watchers = new Set<PullWatcher>();
  #resolved: Extract<PullProgress, { readonly kind: 'resolved' }> | undefined;
  readonly #layers = new Map<string, LayerState>();

  /** Returns how to look away. */
  add(watch: PullWatcher): () => void {
    this.#watchers.add(watch);
    if (this.#resolved) watch(this.#resolved);
    for (const [digest, state] of this.#layers) watch({ kind: 'layer', digest, state });
    return () => this.#watchers.delete(watch);
  }

  resolved(progress: Omit<Extract<PullProgress, { readonly kind: 'resolved' }>, 'kind'>): void {
    this.#resolved = { kind: 'resolved', ...progress };
    this.#tell(this.#resolved);
    for (const { digest } of progress.layers) this.layer(digest, { phase: 'waiting' });
  }

  layer(digest: string, state: LayerState): void {
    this.#layers.set(digest, state);
    this.#tell({ kind: 'layer', digest, state });
  }

  #tell(progress: PullProgress): void {
    for (const watch of this.#watchers) watch(progress);
  }
}
