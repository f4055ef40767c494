import { tracingChannel } from 'node:diagnostics_channel';
import { buildCri, type Cri, type ErasedStream, erasedCalls, type Method } from './services.ts';

/** Message of the `nodelet.cri.rpc` channel. One object per call, to which subscribers can attach their own state. */
export interface RpcTrace {
  /** The RPC's name in the protocol: `RunPodSandbox`. */
  readonly method: string;
  /** `/runtime.v1.RuntimeService/RunPodSandbox` */
  readonly path: string;
  readonly side: RpcSide['side'];
  readonly address?: string | undefined;
  readonly request: unknown;
  /** The result of a successful unary call. */
  readonly result?: unknown;
  /** The error of a failed call. */
  readonly error?: unknown;
}

/** Which end of the connection publishes a call. */
export interface RpcSide {
  readonly side: 'client' | 'server';
  /** The socket of the runtime; absent: unknown, or a runtime in this process. */
  readonly address?: string;
}

export const RPC_CHANNEL = 'nodelet.cri.rpc';

const rpc = tracingChannel<object>(RPC_CHANNEL);

/** Wraps the services so that every call is published on `nodelet.cri.rpc`. A stream is one call until it ends. */
export function instrument(cri: Cri, side: RpcSide = { side: 'client' }): Cri {
  const calls = erasedCalls(cri);
  const traceOf = ({ name, path }: Method, request: unknown): RpcTrace => ({ method: name, path, ...side, request });
  return buildCri({
    unary: (method) => {
      const call = calls.unary(method);
      return (request, signal) => rpc.tracePromise(() => call(request, signal), traceOf(method, request));
    },
    stream: (method) => {
      const call = calls.stream(method);
      return (request, signal) => ({
        [Symbol.asyncIterator]: () => tracedIterator(call, traceOf(method, request), signal),
      });
    },
  });
}

function tracedIterator(
  call: ErasedStream,
  trace: RpcTrace & { error?: unknown },
  signal: AbortSignal,
): AsyncIterator<unknown> {
  rpc.start.publish(trace);
  const inner = call(trace.request, signal)[Symbol.asyncIterator]();
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
