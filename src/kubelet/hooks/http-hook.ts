import type { Container, HTTPGetAction, HTTPHeader } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import type { NetworkClient } from '../../host/network.ts';
import { type GetOutcome, httpGet } from '../probes/http-get.ts';
import { type ProbeUrl, probeUrl } from '../probes/probe-url.ts';
import { noTimeLimit } from '../probes/time-limit.ts';

export type HttpHookOutcome =
  | {
      readonly kind: 'done';
      /** The address that was asked in clear text, because it does not speak TLS. */
      readonly insteadOfTls: string | undefined;
    }
  | { readonly kind: 'failed'; readonly text: string };

const NOT_TLS = 'server gave HTTP response to HTTPS client';

/**
 * Whoever answers has heard of it: the status does not matter. A server that does not speak TLS is asked again without
 * it, and without the manifest's credentials. Rejects only with the signal's reason.
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
  const ask = (to: ProbeUrl, given: readonly HTTPHeader[]): Promise<GetOutcome> =>
    httpGet({ url: to, purpose: 'lifecycle', headers: given }, network, noTimeLimit(signal));
  const first = await ask(url, headers);
  if (first.kind !== 'unanswered') return { kind: 'done', insteadOfTls: undefined };
  if (!first.text.includes(NOT_TLS)) return { kind: 'failed', text: first.text };
  const open = headers.filter(({ name }) => name.toLowerCase() !== 'authorization');
  const second = await ask({ ...url, scheme: 'http', text: url.text.replace(/^https:/, 'http:') }, open);
  return second.kind === 'unanswered'
    ? { kind: 'failed', text: first.text }
    : { kind: 'done', insteadOfTls: url.authority };
}
