import type { Clock } from '../../../host/clock.ts';
import type { ApiError, ApiServer, Resource } from '../api-server.ts';
import { unavailable } from './api-errors.ts';

/** A fault of one call. */
export type ApiFault =
  /** Fails without an effect. */
  | { readonly kind: 'before'; readonly error: ApiError }
  /** Takes effect, but the caller gets an error: a lost response. A watch fails after its end. */
  | { readonly kind: 'after'; readonly error: ApiError }
  | { readonly kind: 'delay'; readonly ms: number }
  /** Neither takes effect nor returns until the caller aborts. */
  | { readonly kind: 'hang' };

/** The calls of an API server. */
export type ApiVerb = keyof ApiServer;

/** The target of a call. */
export interface ApiRequest {
  readonly resource: Resource | 'serviceaccounts';
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: 'status';
}

/** Faults by verb. An outage has precedence, then faults for the next call, then `everyCall`. */
export class ApiFaults {
  readonly #next = new Map<ApiVerb, ApiFault[]>();
  #everyCall: (verb: ApiVerb, request: ApiRequest) => ApiFault | undefined = () => undefined;
  #outage = new AbortController();

  /** Adds a fault to the next call of this verb; several are queued. */
  next(verb: ApiVerb, fault: ApiFault): void {
    const queue = this.#next.get(verb) ?? [];
    queue.push(fault);
    this.#next.set(verb, queue);
  }

  /** Called for each call from now on: a failing resource, a slow server, or faults drawn from a seed. */
  everyCall(decide: (verb: ApiVerb, request: ApiRequest) => ApiFault | undefined): void {
    this.#everyCall = decide;
  }

  /** During an outage calls fail with `Unavailable`, including pending calls and all watches. */
  setOutage(isOut: boolean): void {
    if (isOut) this.#outage.abort(unavailable());
    else if (this.#outage.signal.aborted) this.#outage = new AbortController();
  }

  /** Aborts at the next outage. */
  get outage(): AbortSignal {
    return this.#outage.signal;
  }

  take(verb: ApiVerb, request: ApiRequest): ApiFault | undefined {
    return this.#next.get(verb)?.shift() ?? this.#everyCall(verb, request);
  }
}

/** Adds the faults to a server. */
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
    deleteCollection: (selection, signal) =>
      call('deleteCollection', selection, signal, () => api.deleteCollection(selection, signal)),
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
