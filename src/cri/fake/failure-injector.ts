import type { Clock } from '../../host/clock.ts';
import type { CriError } from '../cri-error.ts';
import { buildCri, type Cri, type CriMethod, erasedCalls } from '../services.ts';

/** How one call fails. A caller that aborts while it waits gets its own abort reason. */
export type InjectedFailure =
  /** It fails after `delayMs` without an effect. */
  | { readonly kind: 'before'; readonly error: CriError; readonly delayMs?: number }
  /** It takes effect, but fails after `delayMs`: a lost response. */
  | { readonly kind: 'after'; readonly error: CriError; readonly delayMs?: number }
  /** It takes effect after `ms`. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** It has no effect and does not return until the caller aborts. */
  | { readonly kind: 'hang' };

/** Failures by RPC. Those queued by `next` come first, then the one that `everyCall` decides. */
export class FailureInjector {
  readonly #next = new Map<CriMethod, InjectedFailure[]>();
  #everyCall: (method: CriMethod, request: unknown) => InjectedFailure | undefined = () => undefined;

  /** Queues a failure for one of the next calls of this RPC. */
  next(method: CriMethod, failure: InjectedFailure): void {
    const queue = this.#next.get(method) ?? [];
    queue.push(failure);
    this.#next.set(method, queue);
  }

  /** Decides for every call from now on: a runtime that is down, or failures drawn from a seed. */
  everyCall(decide: (method: CriMethod, request: unknown) => InjectedFailure | undefined): void {
    this.#everyCall = decide;
  }

  take(method: CriMethod, request: unknown): InjectedFailure | undefined {
    return this.#next.get(method)?.shift() ?? this.#everyCall(method, request);
  }
}

/** Wraps the services with injected failures. */
export function withInjectedFailures(cri: Cri, injector: FailureInjector, clock: Clock): Cri {
  const calls = erasedCalls(cri);
  return buildCri({
    unary: (method) => async (request, signal) => {
      signal.throwIfAborted();
      const failure = injector.take(method.key, request);
      await beforeEffect(failure, clock, signal);
      const response = await calls.unary(method)(request, signal);
      await afterEffect(failure, clock, signal);
      return response;
    },
    stream: (method) =>
      async function* (request, signal) {
        signal.throwIfAborted();
        const failure = injector.take(method.key, request);
        // Nothing is awaited without a failure: the inner stream must be subscribed by the first `next()`.
        if (failure) await beforeEffect(failure, clock, signal);
        yield* calls.stream(method)(request, signal);
        await afterEffect(failure, clock, signal);
      },
  });
}

async function beforeEffect(failure: InjectedFailure | undefined, clock: Clock, signal: AbortSignal): Promise<void> {
  if (failure?.kind === 'before') await failLater(failure, clock, signal);
  if (failure?.kind === 'delay') await clock.sleep(failure.ms, signal);
  if (failure?.kind === 'hang') await untilAborted(signal);
}

async function afterEffect(failure: InjectedFailure | undefined, clock: Clock, signal: AbortSignal): Promise<void> {
  if (failure?.kind === 'after') await failLater(failure, clock, signal);
}

async function failLater(
  { error, delayMs = 0 }: Extract<InjectedFailure, { kind: 'before' | 'after' }>,
  clock: Clock,
  signal: AbortSignal,
): Promise<never> {
  if (delayMs > 0) await clock.sleep(delayMs, signal);
  throw error;
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
