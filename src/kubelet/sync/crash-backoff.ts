import type { Clock } from '../../host/clock.ts';

/** kubelet's first pause before a container that has crashed twice starts again. */
const FIRST_MS = 10_000;

/** On the clock that never jumps. */
interface Entry {
  readonly delayMs: number;
  readonly setAtMs: number;
}

interface End {
  /** As the runtime tells it: wall-clock time. */
  readonly endedMs: number;
  /** The same moment on the clock that never jumps. */
  readonly atMs: number;
}

/**
 * How long a container that keeps ending is left alone: not at all after its first end, then 10 s, doubling up to a
 * maximum. After running for twice the maximum it begins anew. Kept in memory only, as kubelet does; a wall clock that
 * jumps after an end was first seen neither shortens nor prolongs its pause.
 */
export class CrashBackoff {
  readonly #maxMs: number;
  readonly #entries = new Map<string, Entry>();
  readonly #ends = new Map<string, End>();

  constructor(maxMs: number) {
    this.#maxMs = maxMs;
  }

  /** The pause that a container which ended at `endedMs` is still in. */
  remaining(key: string, endedMs: number, clock: Clock): { readonly delayMs: number; readonly leftMs: number } | undefined {
    const entry = this.#entries.get(key);
    const endedAt = this.#endedAt(key, endedMs, clock);
    if (!entry || this.#isOld(entry, endedAt)) return undefined;
    const leftMs = entry.delayMs - (clock.monotonic() - endedAt);
    return leftMs > 0 ? { delayMs: entry.delayMs, leftMs } : undefined;
  }

  /** The container that ended at `endedMs` is about to start again. */
  recordRestart(key: string, endedMs: number, clock: Clock): void {
    const entry = this.#entries.get(key);
    const isFirst = !entry || this.#isOld(entry, this.#endedAt(key, endedMs, clock));
    const delayMs = isFirst ? Math.min(FIRST_MS, this.#maxMs) : Math.min(entry.delayMs * 2, this.#maxMs);
    this.#entries.set(key, { delayMs, setAtMs: clock.monotonic() });
  }

  /** Forgets every key that begins so. */
  forget(prefix: string): void {
    for (const known of [this.#entries, this.#ends]) {
      for (const key of known.keys()) if (key.startsWith(prefix)) known.delete(key);
    }
  }

  #endedAt(key: string, endedMs: number, clock: Clock): number {
    const known = this.#ends.get(key);
    if (known?.endedMs === endedMs) return known.atMs;
    const atMs = clock.monotonic() - Math.max(0, clock.now() - endedMs);
    this.#ends.set(key, { endedMs, atMs });
    return atMs;
  }

  #isOld({ setAtMs }: Entry, endedAt: number): boolean {
    return endedAt - setAtMs > 2 * this.#maxMs;
  }
}
