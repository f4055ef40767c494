/**
 * Signals changes to one reader, at least once after the last change.
 * 1. Notifications that were not read yet are merged into one.
 * 2. After `fail` every `next` rejects; after `close` every `next` resolves to `false`. Both win over a pending notification.
 */
export class ChangeSignal {
  #unheard = 0;
  #end: { readonly error: unknown } | 'silent' | undefined;
  #wake: (() => void) | undefined;

  notify(): void {
    this.#unheard++;
    this.#wake?.();
  }

  fail(error: unknown): void {
    this.#end ??= { error };
    this.#wake?.();
  }

  close(): void {
    this.#end ??= 'silent';
    this.#wake?.();
  }

  /** Resolves to `true` for a change and to `false` once closed. */
  async next(): Promise<boolean> {
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
