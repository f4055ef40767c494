/** Layers that must not be removed while an image is imported or exported. containerd calls this a lease. */
export class LayerLeases {
  readonly #counts = new Map<string, number>();

  has(chainId: string): boolean {
    return this.#counts.has(chainId);
  }

  /** Holds the layers until the result is disposed. */
  acquire(chain: readonly string[]): Disposable {
    this.#change(chain, 1);
    return { [Symbol.dispose]: () => this.#change(chain, -1) };
  }

  #change(chain: readonly string[], change: 1 | -1): void {
    for (const chainId of chain) {
      const count = (this.#counts.get(chainId) ?? 0) + change;
      if (count === 0) this.#counts.delete(chainId);
      else this.#counts.set(chainId, count);
    }
  }
}
