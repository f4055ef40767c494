import { collectText, limitBytes } from '../../base/byte-chunks.ts';
import type { Clock } from '../../host/clock.ts';
import type { HttpRequest, HttpResponse, Network } from '../../host/network.ts';
import { MAX_MANIFEST_BYTES } from './parse-static-pods.ts';

/** kubelet's timeout for one fetch, redirects and body included. */
const TIMEOUT_MS = 10_000;
const MAX_REQUESTS = 10;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
/** Headers that are not sent to other hosts after a redirect. */
const NOT_FOR_OTHER_HOSTS: readonly string[] = ['authorization', 'cookie', 'cookie2', 'www-authenticate'];

export type HeaderList = ReadonlyArray<readonly [name: string, value: string]>;

export interface ManifestRequest {
  readonly url: string;
  readonly headers: HeaderList;
  /** ETag of the last response, to detect unchanged content. */
  readonly etag: string | undefined;
}

export type ManifestResponse =
  | { readonly kind: 'text'; readonly text: string; readonly etag: string | undefined }
  | { readonly kind: 'unchanged' };

export interface FetchDeps {
  readonly network: Network;
  readonly clock: Clock;
}

/**
 * Fetches the text at an http or https URL. Follows redirects, and verifies certificates against the system's CAs.
 * Rejects with the signal's reason when aborted.
 */
export async function fetchManifest(
  request: ManifestRequest,
  { network, clock }: FetchDeps,
  signal: AbortSignal,
): Promise<ManifestResponse> {
  const limit = clock.deadline(TIMEOUT_MS);
  const done = new AbortController();
  try {
    return await fetchFollowingRedirects(request, network, AbortSignal.any([signal, limit, done.signal]));
  } catch (error) {
    if (!signal.aborted && limit.aborted) throw new Error(`no answer within ${TIMEOUT_MS / 1000} s`, { cause: error });
    throw error;
  } finally {
    done.abort(); // closes connections whose responses were not read completely
  }
}

async function fetchFollowingRedirects(
  request: ManifestRequest,
  network: Network,
  signal: AbortSignal,
): Promise<ManifestResponse> {
  const first = parseUrl(request.url);
  let url = first;
  for (let count = 1; count <= MAX_REQUESTS; count++) {
    const headers = headersFor(url, request, url.host === first.host);
    const target = await requestTarget(url, network, signal);
    const response = await network.request({ ...target, method: 'GET', headers }, signal);
    const location = REDIRECTS.includes(response.status) ? response.headers['location'] : undefined;
    if (location === undefined) return readResponse(response, request);
    url = parseUrl(location, url.href);
  }
  throw new Error(`stopped after ${MAX_REQUESTS} redirects`);
}

async function readResponse(response: HttpResponse, { etag }: ManifestRequest): Promise<ManifestResponse> {
  if (response.status === 304 && etag !== undefined) return { kind: 'unchanged' };
  if (response.status !== 200) throw new Error(`the server answered with HTTP status ${response.status}`);
  const text = await collectText(limitBytes(response.body, MAX_MANIFEST_BYTES, tooLong));
  return { kind: 'text', text, etag: response.headers['etag'] };
}

function tooLong(): Error {
  return new Error(`the response is longer than ${MAX_MANIFEST_BYTES} bytes`);
}

function parseUrl(text: string, base?: string): URL {
  const url = URL.parse(text, base);
  if (url === null) throw new Error('the URL cannot be parsed');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new Error(`the URL has the scheme ${JSON.stringify(url.protocol.slice(0, -1))}, not http or https`);
  }
  return url;
}

async function requestTarget(
  url: URL,
  network: Network,
  signal: AbortSignal,
): Promise<Pick<HttpRequest, 'target' | 'scheme' | 'path'>> {
  const scheme = url.protocol === 'https:' ? 'https' : 'http';
  const port = url.port === '' ? { http: 80, https: 443 }[scheme] : Number(url.port);
  const [host] = await network.lookup(url.hostname.replace(/^\[|\]$/g, ''), signal);
  return { target: { host, port }, scheme, path: `${url.pathname}${url.search}` };
}

/** As in kubelet, `Host` is always the URL's host. */
function headersFor(url: URL, { headers, etag }: ManifestRequest, isFirstHost: boolean): HeaderList {
  const given = headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return lower !== 'host' && (isFirstHost || !NOT_FOR_OTHER_HOSTS.includes(lower));
  });
  return [
    ['Host', url.host],
    ...given,
    ...basicAuthorization(url, given),
    ...(etag === undefined ? [] : [['If-None-Match', etag] as const]),
  ];
}

function basicAuthorization({ username, password }: URL, given: HeaderList): HeaderList {
  if (username === '' || given.some(([name]) => name.toLowerCase() === 'authorization')) return [];
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return [['Authorization', `Basic ${Buffer.from(credentials).toString('base64')}`]];
}
