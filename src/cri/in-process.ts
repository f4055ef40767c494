import { type CallLimits, watchLimits } from './call-limits.ts';
import type { ConnectOptions, CriConnection } from './client.ts';
import { CriError } from './cri-error.ts';
import { deadlineFor } from './deadlines.ts';
import { instrument } from './instrument.ts';
import { buildCri, type Cri, erasedCalls } from './services.ts';

/**
 * Connects to a runtime in this process with the semantics of a socket: the same deadlines, errors that name their RPC,
 * and calls that settle as soon as their signal aborts. Nothing is serialized.
 */
export function connectInProcess(cri: Cri, { clock, runtimeRequestTimeoutMs }: ConnectOptions): CriConnection {
  const calls = erasedCalls(cri);
  const limited = buildCri({
    unary: (method) => {
      const call = calls.unary(method);
      return (request, signal) => {
        const deadlineMs = deadlineFor(method.key, request, runtimeRequestTimeoutMs);
        return callWithLimits((within) => call(request, within), { clock, method, deadlineMs }, signal);
      };
    },
    stream: (method) => calls.stream(method),
  });
  return { ...instrument(limited), close: () => {} };
}

async function callWithLimits(
  call: (signal: AbortSignal) => Promise<unknown>,
  limits: CallLimits,
  signal: AbortSignal,
): Promise<unknown> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const cancelled = Promise.withResolvers<never>();
  const stopWatching = watchLimits(limits, signal, (reason) => {
    cancelled.reject(reason);
    controller.abort(reason);
  });
  try {
    return await Promise.race([call(controller.signal), cancelled.promise]);
  } catch (error) {
    if (controller.signal.aborted) throw controller.signal.reason;
    throw withMethod(error, limits.method);
  } finally {
    stopWatching();
  }
}

function withMethod(error: unknown, { name }: CallLimits['method']): CriError {
  if (!(error instanceof CriError)) {
    const text = error instanceof Error ? error.message : String(error);
    return new CriError('Unknown', text, { cause: error, method: name });
  }
  return error.method === undefined ? new CriError(error.code, error.message, { cause: error, method: name }) : error;
}
