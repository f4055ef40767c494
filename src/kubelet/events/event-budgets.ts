import type { Event } from '../../api/generated/core-v1.ts';
import type { Clock } from '../../host/clock.ts';
import { budgetKey, REMEMBERED } from './event-keys.ts';
import { RecentMap } from './recent-map.ts';

const BURST = 25;
const REFILL_MS = 300_000;

interface Budget {
  readonly left: number;
  readonly atMs: number;
}

/** Lets 25 events about an object through, and then one every five minutes: what is always ill is told of less. */
export class EventBudgets {
  readonly #clock: Clock;
  readonly #budgets = new RecentMap<string, Budget>(REMEMBERED);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the event may be written; if so, it has been paid for. */
  spend(event: Event): boolean {
    const key = budgetKey(event);
    const nowMs = this.#clock.monotonic();
    const { left, atMs } = this.#budgets.get(key) ?? { left: BURST, atMs: nowMs };
    const now = Math.min(BURST, left + (nowMs - atMs) / REFILL_MS);
    const isPaid = now >= 1;
    this.#budgets.set(key, { left: isPaid ? now - 1 : now, atMs: nowMs });
    return isPaid;
  }
}
