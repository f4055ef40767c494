import type { Clock } from '../host/clock.ts';
import type { ConnectOptions, CriConnection } from './client.ts';
import { CriError } from './cri-error.ts';
import { deadlineFor } from './deadlines.ts';
import { instrument } from './instrument.ts';
import { buildCri, type Cri, erasedCalls, type Method } from './services.ts';

/**
 * A runtime in this process, as a client sees one behind a socket: the same deadlines, failures that name their rpc, and
 * a call that settles as soon as its signal aborts. No bytes in between.
 */
export function connectInProcess(cri: Cri, { clock, runtimeRequestTimeoutMs }: ConnectOptions): CriConnection {
  const calls = erasedCalls(cri);
  const limited = buildCri({
    unary: (method) => {
      const call = calls.unary(method);
      return (request, signal) => {
        const deadlineMs = deadlineFor(method.key, request, runtimeRequestTimeoutMs);
        return limitedCall((within) => call(request, within), { clock, method, deadlineMs }, signal);
      };
    },
    stream: (method) => calls.stream(method),
  });
  return { ...instrument(limited), close: () => {} };
}

interface Limits {
  readonly clock: Clock;
  readonly method: Method;
  readonly deadlineMs: number | undefined;
}

async function limitedCall(
  call: (signal: AbortSignal) => Promise<unknown>,
  { clock, method, deadlineMs }: Limits,
  signal: AbortSignal,
): Promise<unknown> {
  signal.throwIfAborted();
  const given = new AbortController();
  const over = new AbortController();
  const giveUp = Promise.withResolvers<never>();
  const leave = (reason: unknown): void => {
    giveUp.reject(reason);
    given.abort(reason);
  };
  signal.addEventListener('abort', () => leave(signal.reason), { once: true, signal: over.signal });
  if (deadlineMs !== undefined) {
    clock.sleep(deadlineMs, over.signal).then(
      () => leave(new CriError('DeadlineExceeded', 'context deadline exceeded', { method: method.name })),
      () => {}, // the call was over first
    );
  }
  try {
    return await Promise.race([call(given.signal), giveUp.promise]);
  } catch (error) {
    if (given.signal.aborted) throw given.signal.reason;
    throw named(error, method);
  } finally {
    over.abort(OVER);
  }
}

/** Made once: a stack for each call would cost more than the call. */
const OVER = new Error('the call is over');

function named(error: unknown, { name }: Method): CriError {
  if (!(error instanceof CriError)) {
    const text = error instanceof Error ? error.message : String(error);
    return new CriError('Unknown', text, { cause: error, method: name });
  }
  return error.method === undefined ? new CriError(error.code, error.message, { cause: error, method: name }) : error;
}
