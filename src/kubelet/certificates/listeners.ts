/** Those who want to hear of each change of one thing. */
export class Listeners {
  readonly #listeners = new Set<() => void>();

  /** Until what it returns is called. */
  add(listener: () => void): () => void {
    const own = (): void => listener(); // the same one twice is two
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
