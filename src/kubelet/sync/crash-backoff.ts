/** kubelet's first pause before a container that has crashed twice starts again. */
const FIRST_MS = 10_000;

interface Entry {
  readonly delayMs: number;
  readonly setAtMs: number;
}

/**
 * How long a container that keeps ending is left alone: not at all after its first end, then 10 s, doubling up to a
 * maximum. After running for twice the maximum it begins anew. Kept in memory only, as kubelet does.
 */
export class CrashBackoff {
  readonly #maxMs: number;
  readonly #entries = new Map<string, Entry>();

  constructor(maxMs: number) {
    this.#maxMs = maxMs;
  }

  /** The pause that a container which ended at `endedMs` is still in. */
  pause(
    key: string,
    endedMs: number,
    nowMs: number,
  ): { readonly delayMs: number; readonly leftMs: number } | undefined {
    const entry = this.#entries.get(key);
    if (!entry || this.#isOld(entry, endedMs)) return undefined;
    const leftMs = entry.delayMs - (nowMs - endedMs);
    return leftMs > 0 ? { delayMs: entry.delayMs, leftMs } : undefined;
  }

  /** The container that ended at `endedMs` is about to start again. */
  started(key: string, endedMs: number, nowMs: number): void {
    const entry = this.#entries.get(key);
    const first = Math.min(FIRST_MS, this.#maxMs);
    const delayMs = !entry || this.#isOld(entry, endedMs) ? first : Math.min(entry.delayMs * 2, this.#maxMs);
    this.#entries.set(key, { delayMs, setAtMs: nowMs });
  }

  /** Forgets every key that begins so. */
  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }

  #isOld({ setAtMs }: Entry, endedMs: number): boolean {
    return endedMs - setAtMs > 2 * this.#maxMs;
  }
}
