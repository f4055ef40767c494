import { abortable } from '../../../base/abortable.ts';
import { type ProxyEnvironment, proxyFor } from '../../../base/proxy-for.ts';
import { textOf } from '../../../base/text-of.ts';
import type { Clock } from '../../../host/clock.ts';
import {
  type HttpPool,
  type HttpRequest,
  type HttpResponse,
  type Network,
  NetworkError,
} from '../../../host/network.ts';
import { leave } from './answer-body.ts';
import { isPassing, RegistryError } from './registry-error.ts';
import type { Headers, RegistryHost } from './registry-host.ts';
import { SilenceLimit } from './silence-limit.ts';

const MAX_REDIRECTS = 10;
/** How long anybody may take to begin an answer. */
const ANSWER_MS = 30_000;

/** What the hosts of one pull share. */
export interface Wire {
  readonly lookup: Network['lookup'];
  readonly pool: HttpPool;
  readonly clock: Clock;
  /** Says which proxies are to be used. */
  readonly env: ProxyEnvironment;
  /** Ends with the pull. */
  readonly life: AbortSignal;
}

export type Asked = Pick<HttpRequest, 'method' | 'body'> & { readonly headers: Headers };

export interface Answer {
  readonly response: HttpResponse;
  /** Who has given it, after all redirects. */
  readonly at: URL;
}

type Addresses = readonly [string, ...string[]];

/** The way to one host, and on its behalf to those that it points at. All go by its TLS settings. */
export class HostConnection {
  readonly #wire: Wire;
  readonly #host: RegistryHost;
  readonly #home: string;
  readonly #plainHome: string;
  readonly #addresses = new Map<string, Promise<Addresses>>();
  /** Whether it turned out that it does not speak TLS. */
  #isPlain = false;

  constructor(wire: Wire, host: RegistryHost) {
    this.#wire = wire;
    this.#host = host;
    this.#home = new URL(`${host.scheme}://${host.authority}`).origin;
    this.#plainHome = new URL(`http://${host.authority}`).origin;
  }

  /** Whether it is the host itself: nobody else is shown what is meant for it. */
  isHome({ origin }: URL): boolean {
    return origin === this.#home || (this.#isPlain && origin === this.#plainHome);
  }

  /** Whether nothing that is sent there is hidden from others. */
  get isPlainHttp(): boolean {
    return this.scheme === 'http';
  }

  /** What it speaks, as far as that is known. */
  get scheme(): 'http' | 'https' {
    return this.#isPlain ? 'http' : this.#host.scheme;
  }

  /** An answer that is no redirect. What `secret` gives for a place is shown to that place alone. */
  async ask(url: URL, asked: Asked, secret: (at: URL) => Headers, signal: AbortSignal): Promise<Answer> {
    let at = url;
    for (let left = MAX_REDIRECTS; left >= 0; left--) {
      const headers = [...asked.headers, ...secret(at)];
      const response = await this.#send(at, { ...asked, headers }, signal);
      const next = response.headers['location'];
      const isRedirect = response.status >= 300 && response.status <= 399 && next !== undefined;
      if (!isRedirect || asked.method !== 'GET') return { response, at };
      await leave(response);
      at = redirected(at, next);
    }
    throw new RegistryError(0, `${placeText(url)}: redirected more than ${MAX_REDIRECTS} times`);
  }

  async #send(url: URL, asked: Asked, signal: AbortSignal): Promise<HttpResponse> {
    if (!this.#host.mayBePlain || !this.isHome(url) || url.protocol === 'http:')
      return this.#exchange(url, asked, signal);
    const plain = new URL(`${this.#plainHome}${url.pathname}${url.search}`);
    if (this.#isPlain) return this.#exchange(plain, asked, signal);
    try {
      return await this.#exchange(url, asked, signal);
    } catch (error) {
      if (!(error instanceof NetworkError) || error.code !== 'EPROTO') throw error;
      this.#isPlain = true;
      return this.#exchange(plain, asked, signal);
    }
  }

  /** Asks one address of the host after the other, until one answers; a proxy finds them itself. */
  async #exchange(url: URL, asked: Asked, signal: AbortSignal): Promise<HttpResponse> {
    const name = url.hostname.replace(/^\[|\]$/g, '');
    const proxy = proxyFor(url, this.#wire.env);
    if (proxy !== undefined) return this.#exchangeThrough(proxy, this.#request(name, url, asked), url, signal);
    const [first, ...others] = await this.#lookup(name, signal);
    let answer = this.#exchangeWith(this.#request(first, url, asked), url, signal);
    for (const address of others) {
      answer = answer.catch((error: unknown) => {
        if (signal.aborted || !isUnreached(error)) throw error;
        return this.#exchangeWith(this.#request(address, url, asked), url, signal);
      });
    }
    return answer;
  }

  /** Who fails may be the proxy, and is named so that it can be found. */
  async #exchangeThrough(proxy: string, request: HttpRequest, url: URL, signal: AbortSignal): Promise<HttpResponse> {
    try {
      return await this.#exchangeWith({ ...request, proxy }, url, signal);
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
      throw new NetworkError(error.code, `by the proxy ${new URL(proxy).host}: ${error.message}`, { cause: error });
    }
  }

  async #exchangeWith(request: HttpRequest, url: URL, signal: AbortSignal): Promise<HttpResponse> {
    const { pool, clock } = this.#wire;
    using limit = new SilenceLimit(clock, ANSWER_MS);
    try {
      return await pool.request(request, AbortSignal.any([signal, limit.over]));
    } catch (error) {
      if (!limit.over.aborted || signal.aborted) throw error;
      const what = `${placeText(url)}: no answer in ${ANSWER_MS / 1000} seconds`;
      throw new NetworkError('ETIMEDOUT', what, { cause: error });
    }
  }

  #request(host: string, url: URL, { headers, ...asked }: Asked): HttpRequest {
    const { tls, skipVerify, dialTimeoutMs } = this.#host;
    const scheme = url.protocol === 'https:' ? 'https' : 'http';
    const port = Number(url.port) || (scheme === 'https' ? 443 : 80);
    return {
      ...asked,
      target: { host, port },
      scheme,
      path: `${url.pathname}${url.search}`,
      headers: [['Host', url.host], ...headers], // also what the certificate has to be for
      ...(tls && { tls }),
      ...(skipVerify && { insecureSkipVerify: true }),
      ...(dialTimeoutMs !== undefined && { connectUntil: this.#wire.clock.deadline(dialTimeoutMs) }),
    };
  }

  /** Once for all who ask; one who gives up does not take it from the others. */
  #lookup(name: string, signal: AbortSignal): Promise<Addresses> {
    const known = this.#addresses.get(name);
    if (known !== undefined) return abortable(known, signal);
    const found = this.#wire.lookup(name, this.#wire.life);
    this.#addresses.set(name, found);
    found.catch(() => this.#addresses.delete(name));
    return abortable(found, signal);
  }
}

/** Nobody has answered there: another address of the same host may. */
function isUnreached(error: unknown): boolean {
  return error instanceof NetworkError && isPassing(error) && error.code !== 'EPROTO';
}

/** A place without its query, which may hold a secret. */
export function placeText({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

function redirected(from: URL, location: string): URL {
  let to: URL;
  try {
    to = new URL(location, from);
  } catch (error) {
    throw new RegistryError(0, `${placeText(from)}: redirected to something else than an address: ${textOf(error)}`);
  }
  if (to.protocol === 'https:' || to.protocol === 'http:') return to;
  throw new RegistryError(0, `${placeText(from)}: redirected to ${to.protocol}`);
}
