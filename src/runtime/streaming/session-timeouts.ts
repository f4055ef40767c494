import type { Clock } from '../../host/clock.ts';

export interface SessionClock extends Pick<Clock, 'monotonic' | 'sleep'> {
  /** After this time without traffic a session is closed; absent: four hours, the default of other runtimes. */
  readonly maxIdleMs?: number | undefined;
}

/** Limit for delivering the last input of a client that has disconnected: the receiver may never read it. */
const DRAIN_TIMEOUT_MS = 10_000;

const MAX_IDLE_MS = 4 * 60 * 60 * 1000;

/** Resolves after the drain timeout, or when the session is over. */
export async function drainTimeout(clock: SessionClock, sessionOver: AbortSignal): Promise<void> {
  await clock.sleep(DRAIN_TIMEOUT_MS, sessionOver).catch(() => {});
}

/** Closes sessions without traffic. */
export class IdleTimeout {
  readonly #clock: SessionClock;
  #lastMs: number;

  constructor(clock: SessionClock) {
    this.#clock = clock;
    this.#lastMs = clock.monotonic();
  }

  /** Restarts the timeout; called on traffic. */
  touch(): void {
    this.#lastMs = this.#clock.monotonic();
  }

  /** Calls `close` when the session was idle for too long, unless it ends before. Never rejects. */
  async watch(close: () => void, sessionOver: AbortSignal): Promise<void> {
    try {
      for (;;) {
        const leftMs = this.#lastMs + (this.#clock.maxIdleMs ?? MAX_IDLE_MS) - this.#clock.monotonic();
        if (leftMs <= 0) break;
        await this.#clock.sleep(leftMs, sessionOver);
      }
      close();
    } catch {
      // The session is over.
    }
  }
}
