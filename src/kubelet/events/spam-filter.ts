import type { Event } from '../../api/generated/core-v1.ts';
import { LruMap } from '../../base/lru-map.ts';
import type { Clock } from '../../host/clock.ts';
import { MAX_KEYS, spamKey } from './event-keys.ts';

const BURST = 25;
const REFILL_MS = 300_000;

interface Budget {
  readonly left: number;
  readonly atMs: number;
}

/** client-go's spam filter: passes a burst of 25 events of an object, then one every five minutes. */
export class EventSpamFilter {
  readonly #clock: Clock;
  readonly #budgets = new LruMap<string, Budget>(MAX_KEYS);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the event may be written; takes a token if so. */
  allows(event: Event): boolean {
    const key = spamKey(event);
    const nowMs = this.#clock.monotonic();
    const { left, atMs } = this.#budgets.get(key) ?? { left: BURST, atMs: nowMs };
    const now = Math.min(BURST, left + (nowMs - atMs) / REFILL_MS);
    const isPaid = now >= 1;
    this.#budgets.set(key, { left: isPaid ? now - 1 : now, atMs: nowMs });
    return isPaid;
  }
}
