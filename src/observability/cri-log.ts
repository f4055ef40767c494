import { tracingChannel } from 'node:diagnostics_channel';
import { errorText } from '../base/error-text.ts';
import { RPC_CHANNEL, type RpcTrace } from '../cri/instrument.ts';
import type { Clock } from '../host/clock.ts';

interface DebugLog {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/**
 * Logs each call to the runtime: its method, object, duration and error. Requests themselves are not logged: they contain
 * environment variables and registry credentials. Returns the function that stops it.
 */
export function logCriCalls({
  log,
  clock,
}: {
  readonly log: DebugLog;
  readonly clock: Pick<Clock, 'monotonic'>;
}): () => void {
  const channel = tracingChannel<object>(RPC_CHANNEL);
  const began = new WeakMap<object, number>();
  const subscribers = {
    start: (trace: object) => {
      began.set(trace, clock.monotonic());
    },
    asyncEnd: (trace: object) => {
      const since = began.get(trace);
      if (since === undefined || !isTrace(trace)) return;
      const ms = Math.round(clock.monotonic() - since);
      const failure = trace.error === undefined ? {} : { error: errorText(trace.error) };
      log.debug('runtime call', { method: trace.method, ...callSubject(trace.request), ms, ...failure });
    },
  };
  channel.subscribe(subscribers);
  return () => channel.unsubscribe(subscribers);
}

function isTrace(trace: object): trace is RpcTrace {
  return 'method' in trace && 'request' in trace;
}

const SUBJECTS = ['containerId', 'podSandboxId'] as const;

function callSubject(request: unknown): Record<string, string> {
  if (typeof request !== 'object' || request === null) return {};
  const fields = new Map(Object.entries(request));
  return Object.fromEntries(
    SUBJECTS.flatMap((name) => {
      const value: unknown = fields.get(name);
      return typeof value === 'string' && value !== '' ? [[name, value.slice(0, 13)]] : [];
    }),
  );
}
