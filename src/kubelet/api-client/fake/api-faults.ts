import type { Clock } from '../../../host/clock.ts';
import type { ApiError, ApiServer, Resource } from '../api-server.ts';
import { unavailable } from './api-errors.ts';

/** What goes wrong with one call. */
export type ApiFault =
  /** It fails and nothing has happened. */
  | { readonly kind: 'before'; readonly error: ApiError }
  /** It happens, but the caller is told that it failed: a lost answer. A watch fails once it has ended. */
  | { readonly kind: 'after'; readonly error: ApiError }
  | { readonly kind: 'delay'; readonly ms: number }
  /** It neither happens nor ends, until the caller gives up. */
  | { readonly kind: 'hang' };

/** The calls of an API server, by name. */
export type ApiVerb = keyof ApiServer;

/** What a call is about. */
export interface ApiRequest {
  readonly resource: Resource | 'serviceaccounts';
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: 'status';
}

/** Faults by verb. An outage comes first, then those for the next call, then what `everyCall` says. */
export class ApiFaults {
  readonly #next = new Map<ApiVerb, ApiFault[]>();
  #everyCall: (verb: ApiVerb, request: ApiRequest) => ApiFault | undefined = () => undefined;
  #outage = new AbortController();

  /** The next call of this verb, and only that one; several queue up. */
  next(verb: ApiVerb, fault: ApiFault): void {
    const queue = this.#next.get(verb) ?? [];
    queue.push(fault);
    this.#next.set(verb, queue);
  }

  /** Asked for each call from now on: a resource that fails, a slow server, or faults drawn from a seed. */
  everyCall(decide: (verb: ApiVerb, request: ApiRequest) => ApiFault | undefined): void {
    this.#everyCall = decide;
  }

  /** While out, calls fail with `Unavailable`: also those that wait, and every watch. */
  setOutage(isOut: boolean): void {
    if (isOut) this.#outage.abort(unavailable());
    else if (this.#outage.signal.aborted) this.#outage = new AbortController();
  }

  /** Aborts with the next outage. */
  get outage(): AbortSignal {
    return this.#outage.signal;
  }

  take(verb: ApiVerb, request: ApiRequest): ApiFault | undefined {
    return this.#next.get(verb)?.shift() ?? this.#everyCall(verb, request);
  }
}

/** The same server, with faults. */
export function withFaults(api: ApiServer, faults: ApiFaults, clock: Clock): ApiServer {
  const call = async <T>(
    verb: ApiVerb,
    request: ApiRequest,
    signal: AbortSignal,
    happen: () => Promise<T>,
  ): Promise<T> => {
    signal.throwIfAborted();
    faults.outage.throwIfAborted();
    const fault = faults.take(verb, request);
    await beforeEffect(fault, clock, signal, faults.outage);
    const answer = await happen();
    if (fault?.kind === 'after') throw fault.error;
    return answer;
  };
  return {
    get: (key, signal) => call('get', key, signal, () => api.get(key, signal)),
    list: (selection, signal) => call('list', selection, signal, () => api.list(selection, signal)),
    create: (key, object, signal) => call('create', key, signal, () => api.create(key, object, signal)),
    update: (key, object, signal) => call('update', key, signal, () => api.update(key, object, signal)),
    patch: (key, patch, options, signal) =>
      call('patch', { ...key, ...options }, signal, () => api.patch(key, patch, options, signal)),
    delete: (key, options, signal) => call('delete', key, signal, () => api.delete(key, options, signal)),
    createToken: (account, spec, signal) =>
      call('createToken', { resource: 'serviceaccounts', ...account }, signal, () =>
        api.createToken(account, spec, signal),
      ),
    async *watch(selection, signal) {
      signal.throwIfAborted();
      const { outage } = faults;
      outage.throwIfAborted();
      const fault = faults.take('watch', selection);
      await beforeEffect(fault, clock, signal, outage);
      yield* api.watch(selection, AbortSignal.any([signal, outage]));
      if (fault?.kind === 'after') throw fault.error;
    },
  };
}

async function beforeEffect(
  fault: ApiFault | undefined,
  clock: Clock,
  signal: AbortSignal,
  outage: AbortSignal,
): Promise<void> {
  if (fault?.kind === 'before') throw fault.error;
  if (fault?.kind === 'delay') await clock.sleep(fault.ms, AbortSignal.any([signal, outage]));
  if (fault?.kind === 'hang') await untilAborted(AbortSignal.any([signal, outage]));
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
