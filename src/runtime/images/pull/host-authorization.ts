import { abortable } from '../../../base/abortable.ts';
import type { Clock } from '../../../host/clock.ts';
import type { HttpResponse } from '../../../host/network.ts';
import { parseObject, stringField } from '../json-fields.ts';
import { type Challenge, parseChallenge } from './challenge.ts';
import { basicAuthorization, type Credentials } from './credentials.ts';
import { type HostConnection, type HostResponse, urlText } from './host-connection.ts';
import { RegistryError } from './registry-error.ts';
import type { Headers } from './registry-host.ts';
import { discardBody, readSmallBody, responseErrorText } from './response-body.ts';

/** Our OAuth2 client ID. */
const CLIENT_ID = 'nodelet';
const TOKEN_MS = 60_000;
const MAX_TOKEN_BYTES = 1024 * 1024;

type TokenChallenge = Extract<Challenge, { readonly scheme: 'bearer' }>;

export interface AuthorizationOptions {
  readonly connection: HostConnection;
  readonly credentials: Credentials;
  /** `repository:library/busybox:pull` */
  readonly scope: string;
  readonly clock: Clock;
  /** Aborted at the end of the pull. */
  readonly pullSignal: AbortSignal;
}

/**
 * The authorization of a host. A 401 is answered with the scheme of its challenge; concurrent requests share one
 * attempt. Tokens are used until the host rejects them; then another one is fetched.
 */
export class HostAuthorization {
  readonly #options: AuthorizationOptions;
  #header: string | undefined;
  #pending: Promise<boolean> | undefined;

  constructor(options: AuthorizationOptions) {
    this.#options = options;
    if (options.credentials.kind === 'token') this.#header = `Bearer ${options.credentials.token}`;
  }

  /** The `Authorization` header to send; `undefined`: none so far. */
  get header(): string | undefined {
    return this.#header;
  }

  /** Describes the credentials in error messages. */
  get credentialsText(): string {
    const { credentials } = this.#options;
    if (credentials.kind === 'none') return 'without a login';
    return credentials.kind === 'password' ? `with the login of ${credentials.username}` : 'with a token';
  }

  /**
   * Handles a 401 of a request sent with `sent`. Returns whether to retry; if not, the response body is still unread.
   */
  async answerChallenge(response: HttpResponse, sent: string | undefined, signal: AbortSignal): Promise<boolean> {
    const challenge = parseChallenge(response.headers['www-authenticate'] ?? '');
    if (sent === this.#header && !this.#canAnswer(challenge, sent)) return false;
    await discardBody(response);
    if (challenge === undefined || sent !== this.#header) return true;
    this.#pending ??= this.#authorize(challenge).finally(() => {
      this.#pending = undefined;
    });
    return abortable(this.#pending, signal);
  }

  #canAnswer(challenge: Challenge | undefined, sent: string | undefined): boolean {
    if (challenge === undefined) return false;
    if (challenge.scheme === 'bearer') return this.#options.credentials.kind !== 'token';
    const basic = basicAuthorization(this.#options.credentials);
    return basic !== undefined && basic !== sent;
  }

  async #authorize(challenge: Challenge): Promise<boolean> {
    this.#header =
      challenge.scheme === 'basic'
        ? basicAuthorization(this.#options.credentials)
        : `Bearer ${await this.#token(challenge)}`;
    return true;
  }

  async #token(challenge: TokenChallenge): Promise<string> {
    const url = this.#realm(challenge);
    const { clock, pullSignal } = this.#options;
    const { response } = await this.#requestToken(
      url,
      challenge,
      AbortSignal.any([pullSignal, clock.deadline(TOKEN_MS)]),
    );
    if (response.status !== 200) {
      const text = `${urlText(url)}: ${await responseErrorText(response)} (requested ${this.credentialsText})`;
      throw new RegistryError(response.status, text);
    }
    const answer = parseObject(await readSmallBody(response, MAX_TOKEN_BYTES), urlText(url));
    const token = stringField(answer, 'access_token') || stringField(answer, 'token');
    if (!/^[\x21-\x7e]+$/.test(token)) throw new RegistryError(0, `${urlText(url)}: the response has no token`);
    return token;
  }

  /** Credentials for a TLS host are never sent in plain text. */
  #realm({ realm }: TokenChallenge): URL {
    const url = URL.canParse(realm) ? new URL(realm) : undefined;
    if (url?.protocol === 'https:') return url;
    const isAllowed =
      url?.protocol === 'http:' && (this.#options.credentials.kind === 'none' || this.#options.connection.isPlainHttp);
    if (isAllowed) return url;
    throw new RegistryError(
      0,
      `credentials are requested at ${JSON.stringify(realm.slice(0, 200))}, but not sent there`,
    );
  }

  /** An identity token is sent as OAuth2 specifies, else basic authentication is used if there is a password. */
  #requestToken(url: URL, { service, scope }: TokenChallenge, signal: AbortSignal): Promise<HostResponse> {
    const params = new URLSearchParams(service === undefined ? {} : { service });
    params.set('scope', scope ?? this.#options.scope);
    if (this.#options.credentials.kind === 'identity') {
      params.set('grant_type', 'refresh_token');
      params.set('refresh_token', this.#options.credentials.token);
      params.set('client_id', CLIENT_ID);
      const headers = [['Content-Type', 'application/x-www-form-urlencoded'] as const];
      const form = { method: 'POST', headers, body: params.toString() } as const;
      return this.#options.connection.fetch(url, form, () => [], signal);
    }
    for (const [name, value] of params) url.searchParams.set(name, value);
    const basic = basicAuthorization(this.#options.credentials);
    const secret = (at: URL): Headers =>
      basic !== undefined && at.origin === url.origin ? [['Authorization', basic]] : [];
    return this.#options.connection.fetch(url, { method: 'GET', headers: [] }, secret, signal);
  }
}
