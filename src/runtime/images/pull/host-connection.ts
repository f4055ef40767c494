import { abortable } from '../../../base/abortable.ts';
import { errorText } from '../../../base/error-text.ts';
import { type ProxyEnvironment, proxyForUrl } from '../../../base/proxy-for.ts';
import { traceWork, type Work } from '../../../base/trace-work.ts';
import type { Clock } from '../../../host/clock.ts';
import {
  type HttpPool,
  type HttpRequest,
  type HttpResponse,
  type Network,
  NetworkError,
} from '../../../host/network.ts';
import { IdleTimeout } from './idle-timeout.ts';
import { isTransient, RegistryError } from './registry-error.ts';
import type { Headers, RegistryHost } from './registry-host.ts';
import { discardBody } from './response-body.ts';

const MAX_REDIRECTS = 10;
/** How long a server may take to start its response. */
const RESPONSE_TIMEOUT_MS = 30_000;

/** Shared by the hosts of one pull. */
export interface Transport {
  readonly lookup: Network['lookup'];
  readonly pool: HttpPool;
  readonly clock: Clock;
  /** Selects the proxies. */
  readonly env: ProxyEnvironment;
  /** Aborted at the end of the pull. */
  readonly pullSignal: AbortSignal;
}

export type RequestParts = Pick<HttpRequest, 'method' | 'body'> & { readonly headers: Headers };

export interface HostResponse {
  readonly response: HttpResponse;
  /** The responding URL, after all redirects. */
  readonly at: URL;
}

type Addresses = readonly [string, ...string[]];

/** Connects to one host and to its redirect targets, all with the host's TLS settings. */
export class HostConnection {
  readonly #transport: Transport;
  readonly #host: RegistryHost;
  readonly #home: string;
  readonly #plainHome: string;
  readonly #addresses = new Map<string, Promise<Addresses>>();
  /** Whether the host turned out not to speak TLS. */
  #isPlain = false;

  constructor(transport: Transport, host: RegistryHost) {
    this.#transport = transport;
    this.#host = host;
    this.#home = new URL(`${host.scheme}://${host.authority}`).origin;
    this.#plainHome = new URL(`http://${host.authority}`).origin;
  }

  /** Whether the URL is the host itself; only the host receives its headers and credentials. */
  isHost({ origin }: URL): boolean {
    return origin === this.#home || (this.#isPlain && origin === this.#plainHome);
  }

  /** Whether requests are sent unencrypted. */
  get isPlainHttp(): boolean {
    return this.scheme === 'http';
  }

  /** The scheme in use, as far as it is known. */
  get scheme(): 'http' | 'https' {
    return this.#isPlain ? 'http' : this.#host.scheme;
  }

  /** Sends a request and follows redirects. `secret` returns the headers that only this URL receives. */
  async fetch(url: URL, parts: RequestParts, secret: (at: URL) => Headers, signal: AbortSignal): Promise<HostResponse> {
    let at = url;
    for (let left = MAX_REDIRECTS; left >= 0; left--) {
      const headers = [...parts.headers, ...secret(at)];
      const response = await traceWork(
        () => requestWork(at, parts),
        () => this.#send(at, { ...parts, headers }, signal),
      );
      const next = response.headers['location'];
      const isRedirect = response.status >= 300 && response.status <= 399 && next !== undefined;
      if (!isRedirect || parts.method !== 'GET') return { response, at };
      await discardBody(response);
      at = redirectTarget(at, next);
    }
    throw new RegistryError(0, `${urlText(url)}: redirected more than ${MAX_REDIRECTS} times`);
  }

  async #send(url: URL, parts: RequestParts, signal: AbortSignal): Promise<HttpResponse> {
    if (!this.#host.fallsBackToHttp || !this.isHost(url) || url.protocol === 'http:')
      return this.#exchange(url, parts, signal);
    const plain = new URL(`${this.#plainHome}${url.pathname}${url.search}`);
    if (this.#isPlain) return this.#exchange(plain, parts, signal);
    try {
      return await this.#exchange(url, parts, signal);
    } catch (error) {
      if (!(error instanceof NetworkError) || error.code !== 'EPROTO') throw error;
      this.#isPlain = true;
      return this.#exchange(plain, parts, signal);
    }
  }

  /** Tries the host's addresses in turn until one responds; a proxy resolves them itself. */
  async #exchange(url: URL, parts: RequestParts, signal: AbortSignal): Promise<HttpResponse> {
    const name = url.hostname.replace(/^\[|\]$/g, '');
    const proxy = proxyForUrl(url, this.#transport.env);
    if (proxy !== undefined) return this.#exchangeThrough(proxy, this.#request(name, url, parts), url, signal);
    const [first, ...others] = await this.#lookup(name, signal);
    let answer = this.#exchangeWith(this.#request(first, url, parts), url, signal);
    for (const address of others) {
      answer = answer.catch((error: unknown) => {
        if (signal.aborted || !isNoResponse(error)) throw error;
        return this.#exchangeWith(this.#request(address, url, parts), url, signal);
      });
    }
    return answer;
  }

  /** Names the proxy in the error, because it may be the cause. */
  async #exchangeThrough(proxy: string, request: HttpRequest, url: URL, signal: AbortSignal): Promise<HttpResponse> {
    try {
      return await this.#exchangeWith({ ...request, proxy }, url, signal);
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
      throw new NetworkError(error.code, `via proxy ${new URL(proxy).host}: ${error.message}`, { cause: error });
    }
  }

  async #exchangeWith(request: HttpRequest, url: URL, signal: AbortSignal): Promise<HttpResponse> {
    const { pool, clock } = this.#transport;
    using limit = new IdleTimeout(clock, RESPONSE_TIMEOUT_MS);
    try {
      return await pool.request(request, AbortSignal.any([signal, limit.signal]));
    } catch (error) {
      if (!limit.signal.aborted || signal.aborted) throw error;
      const what = `${urlText(url)}: no response in ${RESPONSE_TIMEOUT_MS / 1000} seconds`;
      throw new NetworkError('ETIMEDOUT', what, { cause: error });
    }
  }

  #request(host: string, url: URL, { headers, ...parts }: RequestParts): HttpRequest {
    const { tls, skipVerify, dialTimeoutMs } = this.#host;
    const scheme = url.protocol === 'https:' ? 'https' : 'http';
    const port = Number(url.port) || (scheme === 'https' ? 443 : 80);
    return {
      ...parts,
      target: { host, port },
      scheme,
      path: `${url.pathname}${url.search}`,
      headers: [['Host', url.host], ...headers], // also the name that the certificate must match
      ...(tls && { tls }),
      ...(skipVerify && { insecureSkipVerify: true }),
      ...(dialTimeoutMs !== undefined && { connectUntil: this.#transport.clock.deadline(dialTimeoutMs) }),
    };
  }

  /** One lookup is shared; aborting one caller does not abort it for others. */
  #lookup(name: string, signal: AbortSignal): Promise<Addresses> {
    const known = this.#addresses.get(name);
    if (known !== undefined) return abortable(known, signal);
    const found = this.#transport.lookup(name, this.#transport.pullSignal);
    this.#addresses.set(name, found);
    found.catch(() => this.#addresses.delete(name));
    return abortable(found, signal);
  }
}

/** No response: another address of the host may respond. */
function isNoResponse(error: unknown): boolean {
  return error instanceof NetworkError && isTransient(error) && error.code !== 'EPROTO';
}

/** containerd's name. The request does not carry the trace: a registry is not part of the node. */
function requestWork(url: URL, { method }: RequestParts): Work {
  return {
    name: 'remotes.docker.resolver.HTTPRequest',
    kind: 'client',
    facts: { 'http.request.method': method, 'url.full': urlText(url) },
    factsOf: (response) => ({ 'http.response.status_code': (response as HttpResponse).status }),
  };
}

/** Returns a URL without its query, which may hold a secret. */
export function urlText({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

function redirectTarget(from: URL, location: string): URL {
  let to: URL;
  try {
    to = new URL(location, from);
  } catch (error) {
    throw new RegistryError(0, `${urlText(from)}: redirected to an invalid URL: ${errorText(error)}`);
  }
  if (to.protocol === 'https:' || to.protocol === 'http:') return to;
  throw new RegistryError(0, `${urlText(from)}: redirected to ${to.protocol}`);
}
