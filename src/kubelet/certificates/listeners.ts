/** Listeners for changes of one value. */
export class Listeners {
  readonly #listeners = new Set<() => void>();

  /** Returns the function that removes the listener. */
  add(listener: () => void): () => void {
    const own = (): void => listener(); // a listener that is added twice is called twice
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
