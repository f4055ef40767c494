import type { Clock } from '../../host/clock.ts';

/** kubelet's first delay, after the second exit of a container. */
const FIRST_MS = 10_000;

/** Times on the monotonic clock. */
interface Entry {
  readonly delayMs: number;
  readonly setAtMs: number;
}

interface Exit {
  /** Wall-clock time reported by the runtime. */
  readonly exitedMs: number;
  /** The same moment on the monotonic clock. */
  readonly atMs: number;
}

/**
 * Crash back-off of containers: none after the first exit, then 10 s, doubling up to a maximum. It is reset after the
 * container ran for twice the maximum. Kept in memory only, as in kubelet. A jump of the wall clock after an exit was
 * first seen does not change its delay.
 */
export class CrashBackoff {
  readonly #maxMs: number;
  readonly #entries = new Map<string, Entry>();
  readonly #exits = new Map<string, Exit>();

  constructor(maxMs: number) {
    this.#maxMs = maxMs;
  }

  /** The remaining back-off of a container that exited at `exitedMs`; `undefined` when it may start. */
  remaining(
    key: string,
    exitedMs: number,
    clock: Clock,
  ): { readonly delayMs: number; readonly leftMs: number } | undefined {
    const entry = this.#entries.get(key);
    const exitedAt = this.#exitedAt(key, exitedMs, clock);
    if (!entry || this.#isExpired(entry, exitedAt)) return undefined;
    const leftMs = entry.delayMs - (clock.monotonic() - exitedAt);
    return leftMs > 0 ? { delayMs: entry.delayMs, leftMs } : undefined;
  }

  /** Records that the container which exited at `exitedMs` is about to restart. */
  recordRestart(key: string, exitedMs: number, clock: Clock): void {
    const entry = this.#entries.get(key);
    const isFirst = !entry || this.#isExpired(entry, this.#exitedAt(key, exitedMs, clock));
    const delayMs = isFirst ? Math.min(FIRST_MS, this.#maxMs) : Math.min(entry.delayMs * 2, this.#maxMs);
    this.#entries.set(key, { delayMs, setAtMs: clock.monotonic() });
  }

  /** Forgets every key with this prefix. */
  forget(prefix: string): void {
    for (const known of [this.#entries, this.#exits]) {
      for (const key of known.keys()) if (key.startsWith(prefix)) known.delete(key);
    }
  }

  #exitedAt(key: string, exitedMs: number, clock: Clock): number {
    const known = this.#exits.get(key);
    if (known?.exitedMs === exitedMs) return known.atMs;
    const atMs = clock.monotonic() - Math.max(0, clock.now() - exitedMs);
    this.#exits.set(key, { exitedMs, atMs });
    return atMs;
  }

  #isExpired({ setAtMs }: Entry, exitedAt: number): boolean {
    return exitedAt - setAtMs > 2 * this.#maxMs;
  }
}
