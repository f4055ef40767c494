/**
 * Tells one reader that something changed, at least once after the last change.
 * 1. Rings that nobody has heard yet are heard as one.
 * 2. After `fail` every wait rejects; after `silence` every wait answers `false`. Both win over a waiting ring.
 */
export class ChangeBell {
  #unheard = 0;
  #end: { readonly error: unknown } | 'silent' | undefined;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#unheard++;
    this.#wake?.();
  }

  fail(error: unknown): void {
    this.#end ??= { error };
    this.#wake?.();
  }

  silence(): void {
    this.#end ??= 'silent';
    this.#wake?.();
  }

  /** Resolves to `true` for a change and to `false` once silenced. */
  async heard(): Promise<boolean> {
    while (this.#unheard === 0 && this.#end === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#wake = undefined;
    if (this.#end === 'silent') return false;
    if (this.#end !== undefined) throw this.#end.error;
    this.#unheard = 0;
    return true;
  }
}
