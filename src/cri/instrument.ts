import { tracingChannel } from 'node:diagnostics_channel';
import { buildCri, type Cri, type ErasedStream, erasedCalls, type Method } from './services.ts';

/** Message of the `nodelet.cri.rpc` channel. One object per call, to which subscribers can attach their own state. */
export interface RpcTrace {
  /** The RPC's name in the protocol: `RunPodSandbox`. */
  readonly method: string;
  readonly request: unknown;
  /** The result of a successful unary call. */
  readonly result?: unknown;
  /** The error of a failed call. */
  readonly error?: unknown;
}

export const RPC_CHANNEL = 'nodelet.cri.rpc';

const rpc = tracingChannel<object>(RPC_CHANNEL);

/** Wraps the services so that every call is published on `nodelet.cri.rpc`. A stream is one call until it ends. */
export function instrument(cri: Cri): Cri {
  const calls = erasedCalls(cri);
  return buildCri({
    unary: (method) => {
      const call = calls.unary(method);
      return (request, signal) =>
        rpc.tracePromise(() => call(request, signal), { method: method.name, request } satisfies RpcTrace);
    },
    stream: (method) => {
      const call = calls.stream(method);
      return (request, signal) => ({
        [Symbol.asyncIterator]: () => tracedIterator(call, method, request, signal),
      });
    },
  });
}

function tracedIterator(
  call: ErasedStream,
  method: Method,
  request: unknown,
  signal: AbortSignal,
): AsyncIterator<unknown> {
  const trace: { method: string; request: unknown; error?: unknown } = { method: method.name, request };
  rpc.start.publish(trace);
  const inner = call(request, signal)[Symbol.asyncIterator]();
  rpc.end.publish(trace);

  let open = true;
  const ended = () => {
    if (!open) return;
    open = false;
    rpc.asyncStart.publish(trace);
    rpc.asyncEnd.publish(trace);
  };
  return {
    async next() {
      try {
        const result = await inner.next();
        if (result.done) ended();
        return result;
      } catch (error) {
        trace.error = error;
        rpc.error.publish(trace);
        ended();
        throw error;
      }
    },
    async return() {
      ended();
      await inner.return?.();
      return { done: true, value: undefined };
    },
  };
}
