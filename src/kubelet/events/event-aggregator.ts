import type { Event } from '../../api/generated/core-v1.ts';
import { LruMap } from '../../base/lru-map.ts';
import type { Clock } from '../../host/clock.ts';
import type { EventFactory } from './event-factory.ts';
import { aggregateKey, eventKey, MAX_KEYS } from './event-keys.ts';

/** From this number of different messages on, similar events become one. */
const SIMILAR = 10;
/** After this time without an event, a group starts again. */
const INTERVAL_MS = 600_000;

interface Group {
  /** Different messages, the oldest first. */
  readonly messages: Set<string>;
  readonly lastMs: number;
}

/** An event to write, and the key of its count. */
export interface KeyedEvent {
  readonly event: Event;
  readonly key: string;
}

/** Combines events that differ only in their message: client-go's `EventAggregator`. */
export class EventAggregator {
  readonly #clock: Clock;
  readonly #factory: EventFactory;
  readonly #groups = new LruMap<string, Group>(MAX_KEYS);

  constructor(clock: Clock, factory: EventFactory) {
    this.#clock = clock;
    this.#factory = factory;
  }

  /** Returns the event itself, or the one that stands for its group. */
  aggregate(event: Event): KeyedEvent {
    const key = aggregateKey(event);
    const nowMs = this.#clock.monotonic();
    const known = this.#groups.get(key);
    const messages = known && nowMs - known.lastMs <= INTERVAL_MS ? known.messages : new Set<string>();
    messages.add(event.message ?? '');
    this.#groups.set(key, { messages, lastMs: nowMs });
    if (messages.size < SIMILAR) return { event, key: eventKey(event) };
    // Makes room, so that the next new message reaches the limit again.
    const [oldest] = messages;
    if (oldest !== undefined) messages.delete(oldest);
    const message = `(combined from similar events): ${event.message ?? ''}`;
    return { event: this.#factory.createAggregate(event, message, this.#clock.now()), key };
  }
}
