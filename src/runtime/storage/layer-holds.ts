/** Layers that nobody takes away, because an image is on its way in or out. */
export class LayerHolds {
  readonly #counts = new Map<string, number>();

  has(chainId: string): boolean {
    return this.#counts.has(chainId);
  }

  /** Until it is disposed of. */
  hold(chain: readonly string[]): Disposable {
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
