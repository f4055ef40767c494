import type { Event } from '../../api/generated/core-v1.ts';
import { REMEMBERED, sameEventKey } from './event-keys.ts';
import { RecentMap } from './recent-map.ts';
import type { KeyedEvent } from './similar-events.ts';

/** How an event is brought to the API server. */
export type EventWrite =
  | { readonly kind: 'create'; readonly event: Event }
  /** One that was written before, seen again. `event` is the whole of it, should the server have it no more. */
  | { readonly kind: 'patch'; readonly event: Event; readonly patch: EventPatch };

export type EventPatch = Pick<Event, 'count' | 'lastTimestamp' | 'message'>;

interface Seen {
  readonly count: number;
  readonly name: string;
  readonly firstTimestamp: string | undefined;
}

/** Counts how often the same was told. */
export class EventCounts {
  readonly #seen = new RecentMap<string, Seen>(REMEMBERED);

  observe({ event, key }: KeyedEvent): EventWrite {
    const before = this.#seen.get(key);
    if (!before) {
      this.#remember(key, event);
      return { kind: 'create', event };
    }
    const { name, firstTimestamp } = before;
    const count = before.count + 1;
    const counted = { ...event, metadata: { ...event.metadata, name }, firstTimestamp, count };
    this.#remember(key, counted);
    const { lastTimestamp, message } = counted;
    return { kind: 'patch', event: counted, patch: { count, lastTimestamp, message } };
  }

  /** What the server has now. */
  written(event: Event): void {
    this.#remember(sameEventKey(event), event);
  }

  #remember(key: string, { count = 1, metadata: { name }, firstTimestamp }: Event): void {
    this.#seen.set(key, { count, name, firstTimestamp });
  }
}
