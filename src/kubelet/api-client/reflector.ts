import { ExponentialBackoff } from '../../base/exponential-backoff.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import {
  ApiError,
  type ApiObjects,
  type ApiServer,
  type Resource,
  type Selection,
  type WatchEvent,
} from './api-server.ts';
import { isApiError } from './is-api-error.ts';

/** As client-go's reflector. */
const RETRY = { firstMs: 800, maxMs: 30_000, jitter: 1 };
/** A watch that ends sooner and without an event counts as an error. */
const SHORTEST_WATCH_MS = 1_000;

export interface ReflectorDeps {
  readonly api: Pick<ApiServer, 'list' | 'watch'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Receives the objects of a reflector. */
export interface ReflectorHandler<T> {
  /** All objects: at the start, and whenever changes may have been missed. */
  onList(objects: readonly T[]): void;
  onChange(event: ObjectChange<T>): void;
}

export type ObjectChange<T> = Exclude<WatchEvent<T>, { readonly type: 'BOOKMARK' }>;

/**
 * Lists and watches a selection until the signal aborts, as client-go's reflector.
 *
 * 1. While the server is not reachable the handler is not called: the last known state is kept.
 * 2. A watch that ends is resumed. The objects are listed again only if the version has expired.
 */
export async function runReflector<R extends Resource>(
  selection: Selection<R>,
  handler: ReflectorHandler<ApiObjects[R]>,
  deps: ReflectorDeps,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, log } = deps;
  const reflector = new Reflector(selection, handler, deps);
  while (!signal.aborted) {
    try {
      await reflector.listAndWatch(signal);
    } catch (error) {
      if (signal.aborted) return;
      log.warn('cannot list and watch objects, retrying', { ...selection, error });
      const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
      const waitMs = Math.max(asked, reflector.backoff.next(random.fraction()));
      await clock.sleep(waitMs, signal).catch(() => undefined);
    }
  }
}

class Reflector<R extends Resource> {
  readonly #selection: Selection<R>;
  readonly #handler: ReflectorHandler<ApiObjects[R]>;
  readonly #deps: ReflectorDeps;
  readonly backoff = new ExponentialBackoff(RETRY);
  /** The version to resume from; `undefined` if the objects have to be listed. */
  #version: string | undefined;

  constructor(selection: Selection<R>, handler: ReflectorHandler<ApiObjects[R]>, deps: ReflectorDeps) {
    this.#selection = selection;
    this.#handler = handler;
    this.#deps = deps;
  }

  /** Returns when the watch ends. Throws errors that require a back-off. */
  async listAndWatch(signal: AbortSignal): Promise<void> {
    const { api, clock } = this.#deps;
    const isListed = this.#version === undefined;
    const resourceVersion = this.#version ?? (await this.#list(signal));
    const startMs = clock.monotonic();
    let events = 0;
    const hasStood = (): boolean => events > 0 || clock.monotonic() - startMs >= SHORTEST_WATCH_MS;
    try {
      for await (const event of api.watch({ ...this.#selection, resourceVersion }, signal)) {
        events++;
        this.#version = event.resourceVersion;
        if (event.type !== 'BOOKMARK') this.#handler.onChange(event);
      }
    } catch (error) {
      if (!canResume(error)) this.#version = undefined;
      // A version that was valid before has expired: list again without delay.
      if (isApiError(error, 'Expired') && !isListed) return;
      throw error;
    } finally {
      if (hasStood()) this.backoff.reset();
    }
    if (!hasStood()) throw new Error('the watch ended without an event');
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { items, resourceVersion } = await this.#deps.api.list(this.#selection, signal);
    this.#version = resourceVersion;
    this.#handler.onList(items);
    return resourceVersion;
  }
}

/**
 * The server was unavailable or overloaded: the version is still valid. After other errors the objects are listed
 * again.
 */
function canResume(error: unknown): boolean {
  return isApiError(error, 'Unavailable', 'TooManyRequests');
}
