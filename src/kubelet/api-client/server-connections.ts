import type { Clock } from '../../host/clock.ts';
import {
  type HttpPool,
  type HttpRequest,
  type HttpResponse,
  type Network,
  NetworkError,
  type TlsSettings,
} from '../../host/network.ts';
import type { ClusterAddress } from './client-config.ts';
import type { Credentials, Identity } from './credentials.ts';

/** As in kubelet. */
const CONNECT_MS = 30_000;
/** After this many requests in a row without a response, the connection is considered dead. */
const MAX_UNANSWERED = 2;

export interface ConnectionDeps {
  readonly network: Pick<Network, 'lookup' | 'pool'>;
  readonly clock: Clock;
  readonly credentials: Credentials;
}

/** A request without the parts that all requests share. */
export interface ServerRequestLine {
  readonly method: HttpRequest['method'];
  /** Relative to the server's path, with the query. */
  readonly path: string;
  readonly headers?: ReadonlyArray<readonly [name: string, value: string]>;
  readonly body?: string;
  /** See `HttpRequest`. */
  readonly isRepeatable?: boolean;
}

/** A response that is being read. The caller disposes it. */
export interface ServerResponse extends Disposable {
  readonly response: HttpResponse;
  /** Aborts when the connections are replaced: streams have to end then. */
  readonly outdated: AbortSignal;
}

/** The connections of one TLS identity. */
interface ConnectionPool {
  readonly tls: TlsSettings;
  readonly pool: HttpPool;
  readonly outdated: AbortController;
  inUse: number;
}

/**
 * The connections to one server: with HTTP/2 one for all requests, including watches. They are replaced when the
 * client's identity changes or the server does not respond: then streams end, and other requests complete on the old
 * connection.
 */
export class ServerConnections implements Disposable {
  readonly #cluster: ClusterAddress;
  readonly #url: URL;
  readonly #deps: ConnectionDeps;
  #current: ConnectionPool | undefined;
  #addresses: readonly string[] | undefined;
  #unanswered = 0;

  constructor(cluster: ClusterAddress, deps: ConnectionDeps) {
    this.#cluster = cluster;
    this.#url = new URL(cluster.server);
    this.#deps = deps;
  }

  /** Rejects with a `NetworkError`, a `CredentialError`, or the signal's reason. */
  async request(line: ServerRequestLine, signal: AbortSignal): Promise<ServerResponse> {
    const { credentials } = this.#deps;
    const identity = await credentials.current(signal);
    const answer = await this.#requestAs(identity, line, signal);
    if (answer.response.status !== 401) return answer;
    credentials.onUnauthorized(identity);
    const other = await credentials.current(signal);
    if (other === identity) return answer;
    await drain(answer);
    return this.#requestAs(other, line, signal);
  }

  [Symbol.dispose](): void {
    this.#reconnect();
  }

  async #requestAs(identity: Identity, line: ServerRequestLine, signal: AbortSignal): Promise<ServerResponse> {
    const generation = this.#poolFor(identity.tls);
    generation.inUse++;
    try {
      const response = await this.#exchange(generation.pool, this.#httpRequest(identity, line), signal);
      this.#unanswered = 0;
      return { response, outdated: generation.outdated.signal, [Symbol.dispose]: () => this.#release(generation) };
    } catch (error) {
      this.#release(generation);
      if (isTimeout(signal) && ++this.#unanswered >= MAX_UNANSWERED) this.#reconnect();
      throw error;
    }
  }

  #poolFor(tls: TlsSettings): ConnectionPool {
    if (this.#current && this.#current.tls !== tls) this.#reconnect();
    const pool = (): HttpPool => this.#deps.network.pool();
    this.#current ??= { tls, pool: pool(), outdated: new AbortController(), inUse: 0 };
    return this.#current;
  }

  #reconnect(): void {
    const generation = this.#current;
    this.#current = undefined;
    this.#addresses = undefined;
    this.#unanswered = 0;
    if (!generation) return;
    generation.outdated.abort();
    if (generation.inUse === 0) generation.pool[Symbol.dispose]();
  }

  #release(generation: ConnectionPool): void {
    if (--generation.inUse === 0 && generation !== this.#current) generation.pool[Symbol.dispose]();
  }

  #httpRequest({ authorization, tls }: Identity, line: ServerRequestLine): Omit<HttpRequest, 'target'> {
    const { insecureSkipVerify, proxy } = this.#cluster;
    const { host, pathname } = this.#url;
    const { headers = [], path } = line;
    const isSecure = this.#url.protocol === 'https:';
    return {
      ...line,
      scheme: isSecure ? 'https' : 'http',
      path: `${pathname.replace(/\/$/, '')}${path}`,
      headers: [['Host', host], ...(authorization ? [['Authorization', authorization] as const] : []), ...headers],
      connectUntil: this.#deps.clock.deadline(CONNECT_MS),
      ...(isSecure && { tls, insecureSkipVerify, mayMultiplex: true }),
      ...(proxy !== undefined && { proxy }),
    };
  }

  /** Uses the first of the server's addresses that accepts the connection. */
  async #exchange(pool: HttpPool, request: Omit<HttpRequest, 'target'>, signal: AbortSignal): Promise<HttpResponse> {
    const { protocol, hostname, port: written } = this.#url;
    const port = Number(written || (protocol === 'https:' ? 443 : 80));
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    if (request.proxy !== undefined) return pool.request({ ...request, target: { host, port } }, signal);
    this.#addresses ??= await this.#deps.network.lookup(host, signal);
    let failure: unknown;
    for (const address of this.#addresses) {
      try {
        const response = await pool.request({ ...request, target: { host: address, port } }, signal);
        this.#addresses = [address, ...(this.#addresses ?? []).filter((each) => each !== address)];
        return response;
      } catch (error) {
        if (signal.aborted || !isUnreachable(error)) throw error;
        failure = error;
      }
    }
    this.#addresses = undefined; // the name may resolve differently the next time
    throw failure;
  }
}

function isTimeout(signal: AbortSignal): boolean {
  return signal.aborted && signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError';
}

function isUnreachable(error: unknown): boolean {
  return (
    error instanceof NetworkError &&
    /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EADDRNOTAVAIL)$/.test(error.code)
  );
}

/** Reads the response to its end, so that the connection can be reused. */
async function drain(answer: ServerResponse): Promise<void> {
  using left = answer;
  for await (const _ of left.response.body);
}
