import type { Event } from '../../api/generated/core-v1.ts';
import { ChangeSignal } from '../../base/change-signal.ts';
import type { Log } from '../../base/log.ts';
import type { RateLimit } from '../../base/token-bucket.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import { ApiError, type ApiServer } from '../api-client/api-server.ts';
import { isApiError } from '../api-client/is-api-error.ts';
import { RequestRateLimiter } from '../api-client/request-rate.ts';
import { EventAggregator } from './event-aggregator.ts';
import { EventCounts, type EventWrite } from './event-counts.ts';
import { EventFactory, type EventReport } from './event-factory.ts';
import { EventSpamFilter } from './spam-filter.ts';

// client-go's numbers.
const MAX_QUEUED = 1000;
const MAX_TRIES = 12;
const RETRY_MS = 10_000;

/** Longest delay of the agent's end by queued events. */
const FINAL_FLUSH_MS = 2_000;

export interface EventWriterDeps {
  readonly api: Pick<ApiServer, 'create' | 'patch'>;
  readonly nodeName: string;
  readonly rate: RateLimit;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Writes events to the API server, one after the other, as client-go's recorder does.
 *
 * 1. `record` never waits and never fails: events that do not fit into the queue are dropped.
 * 2. While the server cannot be reached, events stay queued; an event that it rejects is dropped.
 * 3. When the signal aborts, the queued events are sent once, within two seconds and until one fails.
 */
export class EventWriter {
  readonly #deps: EventWriterDeps;
  readonly #bell = new ChangeSignal();
  readonly #rate: RequestRateLimiter;
  readonly #factory: EventFactory;
  readonly #aggregator: EventAggregator;
  readonly #counts = new EventCounts();
  readonly #spamFilter: EventSpamFilter;
  readonly #queue: Event[] = [];
  #isDropping = false;
  /** Counted, and not written yet. */
  #pending: EventWrite | undefined;

  constructor(deps: EventWriterDeps) {
    this.#deps = deps;
    this.#rate = new RequestRateLimiter(deps.rate, deps.clock);
    this.#factory = new EventFactory(deps);
    this.#aggregator = new EventAggregator(deps.clock, this.#factory);
    this.#spamFilter = new EventSpamFilter(deps.clock);
  }

  record(report: EventReport): void {
    const isFull = this.#queue.length >= MAX_QUEUED;
    if (isFull && !this.#isDropping) this.#deps.log.error('the event queue is full, further events are dropped');
    this.#isDropping = isFull;
    if (isFull) return;
    this.#queue.push(this.#factory.create(report));
    this.#bell.notify();
  }

  async run(signal: AbortSignal): Promise<void> {
    if (this.#pending || this.#queue.length > 0) this.#bell.notify(); // left by a failed run
    while (!signal.aborted && (await this.#bell.next(signal))) {
      try {
        while (this.#next()) await this.#write(signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
    await this.#flush();
  }

  /** Whether `#pending` has an event to write. */
  #next(): boolean {
    while (!this.#pending) {
      const event = this.#queue.shift();
      if (!event) return false;
      this.#pending = this.#correlated(event);
    }
    return true;
  }

  /** Returns `undefined` for an event that the spam filter drops; it is counted all the same. */
  #correlated(event: Event): EventWrite | undefined {
    const write = this.#counts.observe(this.#aggregator.aggregate(event));
    return this.#spamFilter.allows(write.event) ? write : undefined;
  }

  async #write(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#deps;
    for (let tries = 1; this.#pending; tries++) {
      const error = await this.#tryPending(signal);
      if (error === undefined) return;
      if (tries === MAX_TRIES) {
        log.error('cannot write event, dropped it', { ...logFields(this.#pending), error });
        this.#pending = undefined;
        return;
      }
      log.warn('cannot write event, will try again', { ...logFields(this.#pending), error });
      // Random at first, so that not all nodes retry at once.
      const pauseMs = tries === 1 ? RETRY_MS * random.fraction() : RETRY_MS;
      await clock.sleep(Math.max(pauseMs, error.retryAfterMs ?? 0), signal);
    }
  }

  /** Returns a transient error; otherwise the event is written, or dropped. */
  async #tryPending(signal: AbortSignal): Promise<ApiError | undefined> {
    if (!this.#pending) return undefined;
    await this.#rate.wait(signal);
    try {
      this.#counts.onWritten(await this.#send(this.#pending, signal));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ApiError && isRetryable(error)) return error;
      // An earlier attempt succeeded, and its response was lost.
      const level = isApiError(error, 'AlreadyExists') ? 'debug' : 'warn';
      this.#deps.log[level]('the API server rejected event', { ...logFields(this.#pending), error });
    }
    this.#pending = undefined;
    return undefined;
  }

  async #send(write: EventWrite, signal: AbortSignal): Promise<Event> {
    const { api } = this.#deps;
    const { event } = write;
    const { name, namespace = '' } = event.metadata;
    const key = { resource: 'events', namespace, name } as const;
    if (write.kind === 'create') return api.create(key, event, signal);
    try {
      return await api.patch(key, write.patch, {}, signal);
    } catch (error) {
      // The server deletes events after an hour.
      if (isApiError(error, 'NotFound')) return api.create(key, event, signal);
      throw error;
    }
  }

  async #flush(): Promise<void> {
    const { clock, log } = this.#deps;
    const limit = clock.deadline(FINAL_FLUSH_MS);
    let error: unknown;
    try {
      while (error === undefined && this.#next()) error = await this.#tryPending(limit);
    } catch (thrown) {
      if (!limit.aborted) throw thrown;
      error = thrown;
    }
    if (error === undefined) return;
    log.warn('events were not written before the agent ended', { count: this.#queue.length + 1, error });
  }
}

function isRetryable({ reason, retryAfterMs }: ApiError): boolean {
  return reason === 'Unavailable' || reason === 'TooManyRequests' || retryAfterMs !== undefined;
}

function logFields({ event }: EventWrite): { readonly object: string; readonly reason: string | undefined } {
  const { namespace = '', name = '' } = event.involvedObject;
  return { object: namespace === '' ? name : `${namespace}/${name}`, reason: event.reason };
}
