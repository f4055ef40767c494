import type { Event } from '../../api/generated/core-v1.ts';
import { ChangeSignal } from '../../base/change-signal.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import { ApiError, type ApiServer } from '../api-client/api-server.ts';
import { isApiError } from '../api-client/is-api-error.ts';
import { RequestRate, type RequestRateLimit } from '../api-client/request-rate.ts';
import { EventBudgets } from './event-budgets.ts';
import { EventCounts, type EventWrite } from './event-counts.ts';
import { type EventReport, NewEvents } from './new-event.ts';
import { SimilarEvents } from './similar-events.ts';

// client-go's numbers.
const MAX_QUEUED = 1000;
const MAX_TRIES = 12;
const RETRY_MS = 10_000;

/** How long the end of the agent may wait for what is still to be told. */
const LAST_WORDS_MS = 2_000;

export interface EventWriterDeps {
  readonly api: Pick<ApiServer, 'create' | 'patch'>;
  readonly nodeName: string;
  readonly rate: RequestRateLimit;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Brings events to the API server, one after the other, as client-go's recorder does.
 *
 * 1. `record` never waits and never fails: what does not fit into the queue is lost.
 * 2. While the server cannot be reached, everything is held; what it refuses is given up at once.
 * 3. When the signal aborts, each event that is left is tried once more, within two seconds and until one fails.
 */
export class EventWriter {
  readonly #deps: EventWriterDeps;
  readonly #bell = new ChangeSignal();
  readonly #rate: RequestRate;
  readonly #made: NewEvents;
  readonly #similar: SimilarEvents;
  readonly #counts = new EventCounts();
  readonly #budgets: EventBudgets;
  readonly #queue: Event[] = [];
  #isLosing = false;
  /** Counted, and not written yet. */
  #pending: EventWrite | undefined;

  constructor(deps: EventWriterDeps) {
    this.#deps = deps;
    this.#rate = new RequestRate(deps.rate, deps.clock);
    this.#made = new NewEvents(deps);
    this.#similar = new SimilarEvents(deps.clock, this.#made);
    this.#budgets = new EventBudgets(deps.clock);
  }

  record(report: EventReport): void {
    const isFull = this.#queue.length >= MAX_QUEUED;
    if (isFull && !this.#isLosing) this.#deps.log.error('too many events wait for the API server, more are lost');
    this.#isLosing = isFull;
    if (isFull) return;
    this.#queue.push(this.#made.make(report));
    this.#bell.notify();
  }

  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#bell.close(), { once: true });
    while (!signal.aborted && (await this.#bell.next())) {
      try {
        while (this.#next()) await this.#write(signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
    await this.#lastWords();
  }

  /** Whether there is something to write, in `#pending`. */
  #next(): boolean {
    while (!this.#pending) {
      const event = this.#queue.shift();
      if (!event) return false;
      this.#pending = this.#correlated(event);
    }
    return true;
  }

  /** Nothing for an event that is one too many about its object; it counts all the same. */
  #correlated(event: Event): EventWrite | undefined {
    const write = this.#counts.observe(this.#similar.combine(event));
    return this.#budgets.spend(write.event) ? write : undefined;
  }

  async #write(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#deps;
    for (let tries = 1; this.#pending; tries++) {
      const error = await this.#tryPending(signal);
      if (error === undefined) return;
      if (tries === MAX_TRIES) {
        log.error('cannot write an event, gave up', { ...shown(this.#pending), error });
        this.#pending = undefined;
        return;
      }
      log.warn('cannot write an event, will try again', { ...shown(this.#pending), error });
      // By chance at first, so that nodes do not come back all at once.
      const pauseMs = tries === 1 ? RETRY_MS * random.fraction() : RETRY_MS;
      await clock.sleep(Math.max(pauseMs, error.retryAfterMs ?? 0), signal);
    }
  }

  /** What came in the way and may be over later; otherwise the event is written, or will never be. */
  async #tryPending(signal: AbortSignal): Promise<ApiError | undefined> {
    if (!this.#pending) return undefined;
    await this.#rate.turn(signal);
    try {
      this.#counts.written(await this.#send(this.#pending, signal));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ApiError && mayPass(error)) return error;
      // An earlier try got there, and only its answer was lost.
      const level = isApiError(error, 'AlreadyExists') ? 'debug' : 'warn';
      this.#deps.log[level]('the API server refuses an event', { ...shown(this.#pending), error });
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
      // The server keeps events for an hour.
      if (isApiError(error, 'NotFound')) return api.create(key, event, signal);
      throw error;
    }
  }

  async #lastWords(): Promise<void> {
    const { clock, log } = this.#deps;
    const limit = clock.deadline(LAST_WORDS_MS);
    let error: unknown;
    try {
      while (error === undefined && this.#next()) error = await this.#tryPending(limit);
    } catch (thrown) {
      if (!limit.aborted) throw thrown;
      error = thrown;
    }
    if (error === undefined) return;
    log.warn('the agent ends with events that were not written', { count: this.#queue.length + 1, error });
  }
}

function mayPass({ reason, retryAfterMs }: ApiError): boolean {
  return reason === 'Unavailable' || reason === 'TooManyRequests' || retryAfterMs !== undefined;
}

function shown({ event }: EventWrite): { readonly object: string; readonly reason: string | undefined } {
  const { namespace = '', name = '' } = event.involvedObject;
  return { object: namespace === '' ? name : `${namespace}/${name}`, reason: event.reason };
}
