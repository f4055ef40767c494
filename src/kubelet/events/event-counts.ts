import type { Event } from '../../api/generated/core-v1.ts';
import { LruMap } from '../../base/lru-map.ts';
import type { KeyedEvent } from './event-aggregator.ts';
import { eventKey, MAX_KEYS } from './event-keys.ts';

/** The request that brings an event to the API server. */
export type EventWrite =
  | { readonly kind: 'create'; readonly event: Event }
  /** A repetition. `event` is the whole event, for the case that the server has deleted it. */
  | { readonly kind: 'patch'; readonly event: Event; readonly patch: EventPatch };

export type EventPatch = Pick<Event, 'count' | 'lastTimestamp' | 'message'>;

interface Seen {
  readonly count: number;
  readonly name: string;
  readonly firstTimestamp: string | undefined;
}

/** Counts repetitions of events: client-go's `eventLogger`. */
export class EventCounts {
  readonly #seen = new LruMap<string, Seen>(MAX_KEYS);

  observe({ event, key }: KeyedEvent): EventWrite {
    const before = this.#seen.get(key);
    if (!before) {
      this.#store(key, event);
      return { kind: 'create', event };
    }
    const { name, firstTimestamp } = before;
    const count = before.count + 1;
    const counted = { ...event, metadata: { ...event.metadata, name }, firstTimestamp, count };
    this.#store(key, counted);
    const { lastTimestamp, message } = counted;
    return { kind: 'patch', event: counted, patch: { count, lastTimestamp, message } };
  }

  /** Records the event as the server has it now. */
  onWritten(event: Event): void {
    this.#store(eventKey(event), event);
  }

  #store(key: string, { count = 1, metadata: { name }, firstTimestamp }: Event): void {
    this.#seen.set(key, { count, name, firstTimestamp });
  }
}
