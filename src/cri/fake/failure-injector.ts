import type { Clock } from '../../host/clock.ts';
import type { CriError } from '../cri-error.ts';
import { buildCri, type Cri, type CriMethod, erasedCalls } from '../services.ts';

/** What goes wrong with one call. A caller who gives up while it waits gets its own reason, as always. */
export type InjectedFailure =
  /** It fails (after a while) and nothing has happened. */
  | { readonly kind: 'before'; readonly error: CriError; readonly delayMs?: number }
  /** It happens, but the caller is told (after a while) that it failed: a lost answer. */
  | { readonly kind: 'after'; readonly error: CriError; readonly delayMs?: number }
  /** It happens after a while. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** It neither happens nor ends, until the caller gives up. */
  | { readonly kind: 'hang' };

/** Faults by rpc. Those for the next call come first, then what `everyCall` says. */
export class FailureInjector {
  readonly #next = new Map<CriMethod, InjectedFailure[]>();
  #everyCall: (method: CriMethod, request: unknown) => InjectedFailure | undefined = () => undefined;

  /** The next call of this rpc, and only that one; several queue up. */
  next(method: CriMethod, fault: InjectedFailure): void {
    const queue = this.#next.get(method) ?? [];
    queue.push(fault);
    this.#next.set(method, queue);
  }

  /** Asked for each call from now on: a runtime that is down, or faults drawn from a seed. */
  everyCall(decide: (method: CriMethod, request: unknown) => InjectedFailure | undefined): void {
    this.#everyCall = decide;
  }

  take(method: CriMethod, request: unknown): InjectedFailure | undefined {
    return this.#next.get(method)?.shift() ?? this.#everyCall(method, request);
  }
}

/** The same services, with faults. */
export function withInjectedFailures(cri: Cri, faults: FailureInjector, clock: Clock): Cri {
  const calls = erasedCalls(cri);
  return buildCri({
    unary: (method) => async (request, signal) => {
      signal.throwIfAborted();
      const fault = faults.take(method.key, request);
      await beforeEffect(fault, clock, signal);
      const response = await calls.unary(method)(request, signal);
      await afterEffect(fault, clock, signal);
      return response;
    },
    stream: (method) =>
      async function* (request, signal) {
        signal.throwIfAborted();
        const fault = faults.take(method.key, request);
        // Without a fault nothing is awaited: the inner stream is subscribed with the first `next()`.
        if (fault) await beforeEffect(fault, clock, signal);
        yield* calls.stream(method)(request, signal);
        await afterEffect(fault, clock, signal);
      },
  });
}

async function beforeEffect(fault: InjectedFailure | undefined, clock: Clock, signal: AbortSignal): Promise<void> {
  if (fault?.kind === 'before') await failLater(fault, clock, signal);
  if (fault?.kind === 'delay') await clock.sleep(fault.ms, signal);
  if (fault?.kind === 'hang') await untilAborted(signal);
}

async function afterEffect(fault: InjectedFailure | undefined, clock: Clock, signal: AbortSignal): Promise<void> {
  if (fault?.kind === 'after') await failLater(fault, clock, signal);
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
