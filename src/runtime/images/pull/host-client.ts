import type { AuthConfig } from '../../../cri/generated/runtime-v1.ts';
import type { HttpResponse } from '../../../host/network.ts';
import { refusalText } from './answer-body.ts';
import { credentialsFor } from './credentials.ts';
import { HostAuthorization } from './host-authorization.ts';
import { type Answer, HostConnection, placeText, type Wire } from './host-connection.ts';
import { RegistryError, retryAfterMs } from './registry-error.ts';
import { type Headers, hostUrl, isMirror, type RegistryHost } from './registry-host.ts';

export interface HostClientOptions {
  readonly wire: Wire;
  readonly host: RegistryHost;
  /** Of the image: `docker.io`, `library/busybox`. */
  readonly registry: string;
  readonly repository: string;
  readonly auth: AuthConfig | undefined;
}

/** What comes is checked as it is, so that nobody is to pack it. */
const ALWAYS: Headers = [
  ['Accept-Encoding', 'identity'],
  ['User-Agent', 'nodelet'],
];

/** One repository at one host, for the length of a pull. */
export class HostClient {
  readonly host: RegistryHost;
  readonly #connection: HostConnection;
  readonly #authorization: HostAuthorization;
  readonly #clock: Wire['clock'];
  readonly #repository: string;
  readonly #query: string;

  /** Throws a `CriError` for credentials that are none. */
  constructor({ wire, host, registry, repository, auth }: HostClientOptions) {
    this.host = host;
    this.#clock = wire.clock;
    this.#connection = new HostConnection(wire, host);
    this.#authorization = new HostAuthorization({
      connection: this.#connection,
      credentials: credentialsFor(auth, host.authority),
      scope: `repository:${repository}:pull`,
      clock: wire.clock,
      life: wire.life,
    });
    this.#repository = repository;
    this.#query = isMirror(host, registry) ? `?${new URLSearchParams({ ns: registry })}` : '';
  }

  /** `https://mirror.example.com/v2`, for people: by what it has turned out to speak. */
  get place(): string {
    return hostUrl({ ...this.host, scheme: this.#connection.scheme });
  }

  /** `manifests/latest`, `blobs/sha256:…` of the repository. Rejects with a `RegistryError` unless it answers 200 or 206. */
  async get(path: string, headers: Headers, signal: AbortSignal): Promise<HttpResponse> {
    const shown = this.#authorization.value;
    let answer = await this.#ask(this.#url(path), headers, signal);
    if (this.#isRefused(answer) && (await this.#authorization.meet(answer.response, shown, signal))) {
      answer = await this.#ask(this.#url(path), headers, signal);
    }
    const asked = this.#isRefused(answer) ? ` (asked ${this.#authorization.shownText})` : '';
    return this.#good(this.#url(path), answer.response, asked); // by now it is known what it speaks
  }

  /** Something of the same repository that is elsewhere; it is shown nothing. */
  async getElsewhere(url: URL, headers: Headers, signal: AbortSignal): Promise<HttpResponse> {
    const { response } = await this.#connection.ask(
      url,
      { method: 'GET', headers: [...headers, ...ALWAYS] },
      () => [],
      signal,
    );
    return this.#good(url, response, '');
  }

  #url(path: string): URL {
    return new URL(`${this.place}/${this.#repository}/${path}${this.#query}`);
  }

  #ask(url: URL, headers: Headers, signal: AbortSignal): Promise<Answer> {
    const secret = (at: URL): Headers => (this.#connection.isHome(at) ? this.#ownHeaders() : []);
    return this.#connection.ask(url, { method: 'GET', headers: [...headers, ...ALWAYS] }, secret, signal);
  }

  /** Nobody else has been shown anything. */
  #isRefused({ response, at }: Answer): boolean {
    return response.status === 401 && this.#connection.isHome(at);
  }

  #ownHeaders(): Headers {
    const { value } = this.#authorization;
    if (value === undefined) return this.host.headers;
    const others = this.host.headers.filter(([name]) => name.toLowerCase() !== 'authorization');
    return [...others, ['Authorization', value]];
  }

  async #good(url: URL, response: HttpResponse, asked: string): Promise<HttpResponse> {
    const { status, headers } = response;
    if (status === 200 || status === 206) return response;
    const pauseMs = retryAfterMs(headers['retry-after'], this.#clock.now());
    throw new RegistryError(status, `${placeText(url)}: ${await refusalText(response)}${asked}`, pauseMs);
  }
}
