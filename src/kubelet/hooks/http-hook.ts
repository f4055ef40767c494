import type { Container, HTTPGetAction, HTTPHeader } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import type { NetworkClient } from '../../host/network.ts';
import { type GetOutcome, httpGet } from '../probes/http-get.ts';
import { type ProbeUrl, probeUrl } from '../probes/probe-url.ts';
import { noTimeLimit } from '../probes/time-limit.ts';

export type HttpHookOutcome =
  | {
      readonly kind: 'done';
      /** The address that was requested over plain HTTP, because it does not speak TLS. */
      readonly httpFallback: string | undefined;
    }
  | { readonly kind: 'failed'; readonly text: string };

/**
 * Sends the request of an HTTP hook. Any response is a success, whatever its status. A server that does not speak TLS is
 * requested again over plain HTTP, without the manifest's credentials. Rejects only with the signal's reason.
 */
export async function runHttpHook(
  action: HTTPGetAction,
  container: Container,
  podIP: string | undefined,
  network: NetworkClient,
  signal: AbortSignal,
): Promise<HttpHookOutcome> {
  if (!action.host && podIP === undefined) return { kind: 'failed', text: 'failed to find networking container' };
  let url: ProbeUrl;
  try {
    url = probeUrl(action, container, podIP ?? '');
  } catch (error) {
    return { kind: 'failed', text: errorText(error) };
  }
  const headers = action.httpHeaders ?? [];
  const send = (to: ProbeUrl, given: readonly HTTPHeader[]): Promise<GetOutcome> =>
    httpGet({ url: to, purpose: 'lifecycle', headers: given }, network, noTimeLimit(signal));
  const first = await send(url, headers);
  if (first.kind !== 'unanswered') return { kind: 'done', httpFallback: undefined };
  if (!first.isPlainHttp) return { kind: 'failed', text: first.text };
  const withoutCredentials = headers.filter(({ name }) => name.toLowerCase() !== 'authorization');
  const plainUrl = { ...url, scheme: 'http', text: url.text.replace(/^https:/, 'http:') } as const;
  const second = await send(plainUrl, withoutCredentials);
  return second.kind === 'unanswered'
    ? { kind: 'failed', text: first.text }
    : { kind: 'done', httpFallback: url.authority };
}
