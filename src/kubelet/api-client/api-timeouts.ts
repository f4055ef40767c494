import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import { ApiError, type ApiServer } from './api-server.ts';

/** Of requests for one object. */
const REQUEST_MS = 10_000;
/** The server's own time limit of a list. */
const LIST_MS = 60_000;
/** As client-go's reflector: between this and twice as long, so that watches do not all restart together. */
const SHORTEST_WATCH_MS = 300_000;

export interface ApiTimeoutDeps {
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Adds time limits to an API server: a call that takes too long fails with `Unavailable` (and may still have been
 * executed), and a long watch ends without an error, in case its connection is dead.
 */
export function withApiTimeouts(api: ApiServer, { clock, random }: ApiTimeoutDeps): ApiServer {
  const within = async <T>(ms: number, signal: AbortSignal, call: (until: AbortSignal) => Promise<T>): Promise<T> => {
    const limit = clock.deadline(ms);
    try {
      return await call(AbortSignal.any([signal, limit]));
    } catch (error) {
      if (signal.aborted || !limit.aborted) throw error;
      throw new ApiError('Unavailable', `no response within ${ms / 1000} s`, { cause: error });
    }
  };
  return {
    get: (key, signal) => within(REQUEST_MS, signal, (until) => api.get(key, until)),
    list: (selection, signal) => within(LIST_MS, signal, (until) => api.list(selection, until)),
    create: (key, object, signal) => within(REQUEST_MS, signal, (until) => api.create(key, object, until)),
    update: (key, object, signal) => within(REQUEST_MS, signal, (until) => api.update(key, object, until)),
    patch: (key, patch, options, signal) =>
      within(REQUEST_MS, signal, (until) => api.patch(key, patch, options, until)),
    delete: (key, options, signal) => within(REQUEST_MS, signal, (until) => api.delete(key, options, until)),
    deleteCollection: (selection, signal) => within(LIST_MS, signal, (until) => api.deleteCollection(selection, until)),
    createToken: (account, spec, signal) =>
      within(REQUEST_MS, signal, (until) => api.createToken(account, spec, until)),
    async *watch(selection, signal) {
      const limit = clock.deadline(SHORTEST_WATCH_MS * (1 + random.fraction()));
      try {
        yield* api.watch(selection, AbortSignal.any([signal, limit]));
      } catch (error) {
        if (signal.aborted || !limit.aborted) throw error;
      }
    },
  };
}
