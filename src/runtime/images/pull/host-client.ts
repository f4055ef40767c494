import type { AuthConfig } from '../../../cri/generated/runtime-v1.ts';
import type { HttpResponse } from '../../../host/network.ts';
import { credentialsFor } from './credentials.ts';
import { HostAuthorization } from './host-authorization.ts';
import { HostConnection, type HostResponse, type Transport, urlText } from './host-connection.ts';
import { parseRetryAfterMs, RegistryError } from './registry-error.ts';
import { type Headers, hostUrl, isMirror, type RegistryHost } from './registry-host.ts';
import { responseErrorText } from './response-body.ts';

export interface HostClientOptions {
  readonly transport: Transport;
  readonly host: RegistryHost;
  /** The image's registry and repository: `docker.io`, `library/busybox`. */
  readonly registry: string;
  readonly repository: string;
  readonly auth: AuthConfig | undefined;
}

/** Content is verified as sent, so no compression is accepted. */
const DEFAULT_HEADERS: Headers = [
  ['Accept-Encoding', 'identity'],
  ['User-Agent', 'nodelet'],
];

/** One repository at one host, for the duration of a pull. */
export class HostClient {
  readonly host: RegistryHost;
  readonly #connection: HostConnection;
  readonly #authorization: HostAuthorization;
  readonly #clock: Transport['clock'];
  readonly #repository: string;
  readonly #query: string;

  /** Throws `CriError` for invalid credentials. */
  constructor({ transport, host, registry, repository, auth }: HostClientOptions) {
    this.host = host;
    this.#clock = transport.clock;
    this.#connection = new HostConnection(transport, host);
    this.#authorization = new HostAuthorization({
      connection: this.#connection,
      credentials: credentialsFor(auth, host.authority),
      scope: `repository:${repository}:pull`,
      clock: transport.clock,
      pullSignal: transport.pullSignal,
    });
    this.#repository = repository;
    this.#query = isMirror(host, registry) ? `?${new URLSearchParams({ ns: registry })}` : '';
  }

  /** `https://mirror.example.com/v2` with the scheme in use, for messages. */
  get url(): string {
    return hostUrl({ ...this.host, scheme: this.#connection.scheme });
  }

  /**
   * Gets `manifests/latest` or `blobs/sha256:…` of the repository. Rejects with `RegistryError` unless the status is
   * 200 or 206.
   */
  async get(path: string, headers: Headers, signal: AbortSignal): Promise<HttpResponse> {
    const sent = this.#authorization.header;
    let answer = await this.#ask(this.#url(path), headers, signal);
    if (this.#isUnauthorized(answer) && (await this.#authorization.answerChallenge(answer.response, sent, signal))) {
      answer = await this.#ask(this.#url(path), headers, signal);
    }
    const suffix = this.#isUnauthorized(answer) ? ` (requested ${this.#authorization.credentialsText})` : '';
    return this.#checkStatus(this.#url(path), answer.response, suffix); // the scheme is known by now
  }

  /** Gets content of the repository from another location, without credentials. */
  async getFromUrl(url: URL, headers: Headers, signal: AbortSignal): Promise<HttpResponse> {
    const { response } = await this.#connection.fetch(
      url,
      { method: 'GET', headers: [...headers, ...DEFAULT_HEADERS] },
      () => [],
      signal,
    );
    return this.#checkStatus(url, response, '');
  }

  #url(path: string): URL {
    return new URL(`${this.url}/${this.#repository}/${path}${this.#query}`);
  }

  #ask(url: URL, headers: Headers, signal: AbortSignal): Promise<HostResponse> {
    const secret = (at: URL): Headers => (this.#connection.isHost(at) ? this.#hostHeaders() : []);
    return this.#connection.fetch(url, { method: 'GET', headers: [...headers, ...DEFAULT_HEADERS] }, secret, signal);
  }

  /** Only the host itself receives credentials, so only its 401 counts. */
  #isUnauthorized({ response, at }: HostResponse): boolean {
    return response.status === 401 && this.#connection.isHost(at);
  }

  #hostHeaders(): Headers {
    const { header } = this.#authorization;
    if (header === undefined) return this.host.headers;
    const others = this.host.headers.filter(([name]) => name.toLowerCase() !== 'authorization');
    return [...others, ['Authorization', header]];
  }

  async #checkStatus(url: URL, response: HttpResponse, suffix: string): Promise<HttpResponse> {
    const { status, headers } = response;
    if (status === 200 || status === 206) return response;
    const pauseMs = parseRetryAfterMs(headers['retry-after'], this.#clock.now());
    throw new RegistryError(status, `${urlText(url)}: ${await responseErrorText(response)}${suffix}`, pauseMs);
  }
}
