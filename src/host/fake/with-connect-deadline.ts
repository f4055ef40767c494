import { NetworkError } from '../network.ts';

/** A signal that aborts with `signal`, and with a connect timeout when `until` aborts. */
export function withConnectDeadline(signal: AbortSignal, until: AbortSignal): AbortSignal {
  const limit = new AbortController();
  const onAbort = (): void => limit.abort(new NetworkError('ETIMEDOUT', 'the connection was not established in time'));
  until.addEventListener('abort', onAbort, { once: true });
  if (until.aborted) onAbort();
  return AbortSignal.any([signal, limit.signal]);
}
