import { NetworkError } from '../network.ts';

/** Aborts with `signal`, and as a connection that did not stand in time with `until`. */
export function withConnectDeadline(signal: AbortSignal, until: AbortSignal): AbortSignal {
  const limit = new AbortController();
  const onAbort = (): void => limit.abort(new NetworkError('ETIMEDOUT', 'the connection did not stand in time'));
  until.addEventListener('abort', onAbort, { once: true });
  if (until.aborted) onAbort();
  return AbortSignal.any([signal, limit.signal]);
}
