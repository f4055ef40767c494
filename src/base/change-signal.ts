/**
 * Signals changes to one reader, at least once after the last change.
 * 1. Notifications that were not read yet are merged into one.
 * 2. After `fail` every `next` rejects; after `close` every `next` resolves to `false`. Both win over a pending notification.
 * 3. A `next` whose signal aborts resolves to `false`, and leaves a pending notification to the next reader.
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

  /** Resolves to `true` for a change, and to `false` once closed or when the signal aborts. */
  async next(signal?: AbortSignal): Promise<boolean> {
    const wake = (): void => this.#wake?.();
    signal?.addEventListener('abort', wake, { once: true });
    while (this.#unheard === 0 && this.#end === undefined && !signal?.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    signal?.removeEventListener('abort', wake);
    this.#wake = undefined;
    if (this.#end === 'silent') return false;
    if (this.#end !== undefined) throw this.#end.error;
    if (signal?.aborted) return false;
    this.#unheard = 0;
    return true;
  }
}
