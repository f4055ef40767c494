/** What plugins have been told of sandboxes, or of containers: of the end of each, once. */
export class Told {
  readonly #states = new Map<string, 'alive' | 'stopped'>();

  has(id: string): boolean {
    return this.#states.has(id);
  }

  begin(id: string): void {
    this.#states.set(id, 'alive');
  }

  /** It was there before us. */
  learn(id: string, state: 'alive' | 'stopped'): void {
    if (!this.#states.has(id)) this.#states.set(id, state);
  }

  /** Whether its stop is to be told now. */
  stop(id: string): boolean {
    if (this.#states.get(id) !== 'alive') return false;
    this.#states.set(id, 'stopped');
    return true;
  }

  /** Whether its removal is to be told now. */
  remove(id: string): boolean {
    return this.#states.delete(id);
  }
}
