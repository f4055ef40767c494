import type { Clock } from '../../host/clock.ts';

export type SessionClock = Pick<Clock, 'monotonic' | 'sleep'>;

/** How long what a client said last may take to get through when it has gone: who takes it may be stuck for ever. */
const DRAIN_TIMEOUT_MS = 10_000;

/** As in other runtimes. */
const MAX_IDLE_MS = 4 * 60 * 60 * 1000;

/** Resolves when that time is over, or the session. */
export async function drainTimeout(clock: SessionClock, sessionOver: AbortSignal): Promise<void> {
  await clock.sleep(DRAIN_TIMEOUT_MS, sessionOver).catch(() => {});
}

/** Ends sessions in which nothing has happened for hours. */
export class IdleTimeout {
  readonly #clock: SessionClock;
  #lastMs: number;

  constructor(clock: SessionClock) {
    this.#clock = clock;
    this.#lastMs = clock.monotonic();
  }

  /** Something happened. */
  touch(): void {
    this.#lastMs = this.#clock.monotonic();
  }

  /** Calls `close` when it has been idle for too long, unless the session is over before. Never rejects. */
  async watch(close: () => void, sessionOver: AbortSignal): Promise<void> {
    try {
      for (;;) {
        const leftMs = this.#lastMs + MAX_IDLE_MS - this.#clock.monotonic();
        if (leftMs <= 0) break;
        await this.#clock.sleep(leftMs, sessionOver);
      }
      close();
    } catch {
      // The session is over.
    }
  }
}
