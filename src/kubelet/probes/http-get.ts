import type { HTTPHeader } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import type { HttpResponse, NetworkClient } from '../../host/network.ts';
import { dialErrorText, hostPort, isPlainHttpResponse } from './dial-error-text.ts';
import { hostHeader, type RequestPurpose, requestHeaders } from './http-headers.ts';
import { MAX_OUTPUT_BYTES } from './probe-handler.ts';
import { type ProbeUrl, redirectUrl } from './probe-url.ts';
import type { TimeLimit } from './time-limit.ts';

const MAX_REQUESTS = 10;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** The outcome of a request; the texts are Go's. */
export type GetOutcome =
  | { readonly kind: 'answered'; readonly status: number; readonly body: string }
  /** `isPlainHttp`: the server speaks HTTP, and the request was HTTPS. */
  | { readonly kind: 'unanswered'; readonly text: string; readonly isPlainHttp: boolean }
  /** The response began, and its body broke off. */
  | { readonly kind: 'brokenOff'; readonly text: string };

export interface GetRequest {
  readonly url: ProbeUrl;
  readonly purpose: RequestPurpose;
  readonly headers: readonly HTTPHeader[];
}

/** One request of a chain of redirects. */
interface Hop {
  readonly url: ProbeUrl;
  /** Dropped when a redirect has a host of its own. */
  readonly host: string | undefined;
  readonly referer: string | undefined;
}

/**
 * Sends a GET request to a container. Redirects to the same host are followed, within one time limit. Certificates are not
 * verified. Rejects with the signal's reason.
 */
export async function httpGet(request: GetRequest, network: NetworkClient, limit: TimeLimit): Promise<GetOutcome> {
  let hop: Hop = { url: request.url, host: hostHeader(request.headers), referer: undefined };
  for (let count = 1; ; count++) {
    const response = await sendRequest(request, hop, network, limit);
    if ('kind' in response) return response;
    const outcome = await read(response, limit);
    const location = redirectLocation(response);
    const next = location === undefined ? undefined : redirectUrl(location, hop.url);
    if (location === undefined || next === undefined || next.host !== request.url.host) return outcome;
    if (outcome.kind === 'brokenOff') return outcome;
    if (count === MAX_REQUESTS) return unanswered(location, 'stopped after 10 redirects');
    hop = { url: next, host: isAbsolute(location) ? undefined : hop.host, referer: refererHeader(hop.url, next) };
  }
}

async function sendRequest(
  { purpose, headers: given }: GetRequest,
  hop: Hop,
  network: NetworkClient,
  limit: TimeLimit,
): Promise<HttpResponse | GetOutcome> {
  const { scheme, host, port, path, authority, text } = hop.url;
  const headers = requestHeaders(given, { purpose, host: hop.host ?? authority, referer: hop.referer });
  try {
    const [address] = await network.lookup(host, limit.signal);
    const target = { host: address, port };
    return await network.request(
      { target, scheme, insecureSkipVerify: true, method: 'GET', path, headers },
      limit.signal,
    );
  } catch (error) {
    if (!limit.isExceeded()) limit.signal.throwIfAborted();
    const timeout = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
    if (limit.isExceeded()) return unanswered(text, timeout);
    return unanswered(text, dialErrorText(error, hostPort(host, port)), isPlainHttpResponse(error));
  }
}

async function read({ status, body }: HttpResponse, limit: TimeLimit): Promise<GetOutcome> {
  try {
    return { kind: 'answered', status, body: await readPrefix(body) };
  } catch (error) {
    if (!limit.isExceeded()) limit.signal.throwIfAborted();
    const timeout = 'context deadline exceeded (Client.Timeout or context cancellation while reading body)';
    return { kind: 'brokenOff', text: limit.isExceeded() ? timeout : errorText(error) };
  }
}

/** Reads up to the limit, and then closes the connection. */
async function readPrefix(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= MAX_OUTPUT_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8', 0, MAX_OUTPUT_BYTES);
}

function redirectLocation({ status, headers }: HttpResponse): string | undefined {
  return REDIRECTS.includes(status) ? headers['location'] : undefined;
}

function isAbsolute(location: string): boolean {
  return /^[a-z][a-z0-9+.-]*:/i.test(location);
}

/** As in Go, a plain HTTP request has no HTTPS address as its referer. */
function refererHeader(from: ProbeUrl, to: ProbeUrl): string | undefined {
  return from.scheme === 'https' && to.scheme === 'http' ? undefined : from.text;
}

function unanswered(url: string, text: string, isPlainHttp = false): GetOutcome {
  return { kind: 'unanswered', text: `Get ${JSON.stringify(url)}: ${text}`, isPlainHttp };
}
