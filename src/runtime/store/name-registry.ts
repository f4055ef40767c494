/**
 * Maps names to the ids that hold them, so that one of two concurrent requests gets a name. It is not stored: at start-up
 * the names come from the records.
 */
export class NameRegistry {
  readonly #holders: Map<string, string>;

  constructor(taken: Iterable<readonly [name: string, id: string]> = []) {
    this.#holders = new Map(taken);
  }

  /** Returns `undefined` if `id` now holds the name; otherwise changes nothing and returns the holder. */
  reserve(name: string, id: string): string | undefined {
    const holder = this.#holders.get(name);
    if (holder === undefined) this.#holders.set(name, id);
    return holder === id ? undefined : holder;
  }

  /** Does nothing if another id holds the name. */
  release(name: string, id: string): void {
    if (this.#holders.get(name) === id) this.#holders.delete(name);
  }
}
