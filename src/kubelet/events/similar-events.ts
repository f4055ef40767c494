import type { Event } from '../../api/generated/core-v1.ts';
import type { Clock } from '../../host/clock.ts';
import { REMEMBERED, sameEventKey, similarEventsKey } from './event-keys.ts';
import type { NewEvents } from './new-event.ts';
import { RecentMap } from './recent-map.ts';

/** So many that differ only in their message become one. */
const SIMILAR = 10;
/** After such a silence they are new. */
const INTERVAL_MS = 600_000;

interface Group {
  /** Different ones, the oldest first. */
  readonly messages: Set<string>;
  readonly lastMs: number;
}

/** An event to write, and under which key it is counted. */
export interface KeyedEvent {
  readonly event: Event;
  readonly key: string;
}

/** Finds events that vary in nothing but their message, and lets one stand for them. */
export class SimilarEvents {
  readonly #clock: Clock;
  readonly #made: NewEvents;
  readonly #groups = new RecentMap<string, Group>(REMEMBERED);

  constructor(clock: Clock, made: NewEvents) {
    this.#clock = clock;
    this.#made = made;
  }

  /** The event itself, or the one that stands for it. */
  combine(event: Event): KeyedEvent {
    const key = similarEventsKey(event);
    const nowMs = this.#clock.monotonic();
    const known = this.#groups.get(key);
    const messages = known && nowMs - known.lastMs <= INTERVAL_MS ? known.messages : new Set<string>();
    messages.add(event.message ?? '');
    this.#groups.set(key, { messages, lastMs: nowMs });
    if (messages.size < SIMILAR) return { event, key: sameEventKey(event) };
    // One goes, so that the next new message is one too many again.
    const [oldest] = messages;
    if (oldest !== undefined) messages.delete(oldest);
    const message = `(combined from similar events): ${event.message ?? ''}`;
    return { event: this.#made.combined(event, message, this.#clock.now()), key };
  }
}
