/** Which sandboxes or containers plugins know, so that each stop and removal is reported once. */
export class NotifiedObjects {
  readonly #states = new Map<string, 'alive' | 'stopped'>();

  has(id: string): boolean {
    return this.#states.has(id);
  }

  add(id: string): void {
    this.#states.set(id, 'alive');
  }

  /** Adds an object of a previous process. */
  addExisting(id: string, state: 'alive' | 'stopped'): void {
    if (!this.#states.has(id)) this.#states.set(id, state);
  }

  /** Returns whether the stop must be reported now. */
  markStopped(id: string): boolean {
    if (this.#states.get(id) !== 'alive') return false;
    this.#states.set(id, 'stopped');
    return true;
  }

  /** Returns whether the removal must be reported now. */
  markRemoved(id: string): boolean {
    return this.#states.delete(id);
  }
}
