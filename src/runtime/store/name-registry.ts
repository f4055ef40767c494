/**
 * Which id holds which name, so that of two who ask at once only one gets it. It is not kept on disk: a start takes the
 * names from the records.
 */
export class NameRegistry {
  readonly #holders: Map<string, string>;

  constructor(taken: Iterable<readonly [name: string, id: string]> = []) {
    this.#holders = new Map(taken);
  }

  /** `undefined`: the name is held for `id` now. Otherwise who has it, and nothing has changed. */
  reserve(name: string, id: string): string | undefined {
    const holder = this.#holders.get(name);
    if (holder === undefined) this.#holders.set(name, id);
    return holder === id ? undefined : holder;
  }

  /** Does nothing when somebody else has it by now. */
  release(name: string, id: string): void {
    if (this.#holders.get(name) === id) this.#holders.delete(name);
  }
}
