import { abortable } from '../../../base/abortable.ts';
import type { Clock } from '../../../host/clock.ts';
import type { HttpResponse } from '../../../host/network.ts';
import { parseObject, textField } from '../json-fields.ts';
import { leave, refusalText, smallBody } from './answer-body.ts';
import { type Challenge, parseChallenge } from './challenge.ts';
import { basicAuthorization, type Credentials } from './credentials.ts';
import { type Answer, type HostConnection, placeText } from './host-connection.ts';
import { RegistryError } from './registry-error.ts';
import type { Headers } from './registry-host.ts';

/** Whom an authorization server takes us for. */
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
  /** Ends with the pull. */
  readonly life: AbortSignal;
}

/**
 * What is shown to a host so that it answers. A refusal is met with what its challenge asks for; who is refused while that
 * goes on waits for it. Tokens last as long as they last: a later refusal fetches another one.
 */
export class HostAuthorization {
  readonly #options: AuthorizationOptions;
  #value: string | undefined;
  #meeting: Promise<boolean> | undefined;

  constructor(options: AuthorizationOptions) {
    this.#options = options;
    if (options.credentials.kind === 'token') this.#value = `Bearer ${options.credentials.token}`;
  }

  /** The `Authorization` to show; `undefined`: none so far. */
  get value(): string | undefined {
    return this.#value;
  }

  /** For people: with what somebody was refused. */
  get shownText(): string {
    const { credentials } = this.#options;
    if (credentials.kind === 'none') return 'without a login';
    return credentials.kind === 'password' ? `with the login of ${credentials.username}` : 'with a token';
  }

  /** Whether asking again may help, after a refusal of a request with `shown`. If not, the answer is still to be read. */
  async meet(response: HttpResponse, shown: string | undefined, signal: AbortSignal): Promise<boolean> {
    const challenge = parseChallenge(response.headers['www-authenticate'] ?? '');
    if (shown === this.#value && !this.#canMeet(challenge, shown)) return false;
    await leave(response);
    if (challenge === undefined || shown !== this.#value) return true;
    this.#meeting ??= this.#met(challenge).finally(() => {
      this.#meeting = undefined;
    });
    return abortable(this.#meeting, signal);
  }

  #canMeet(challenge: Challenge | undefined, shown: string | undefined): boolean {
    if (challenge === undefined) return false;
    if (challenge.scheme === 'bearer') return this.#options.credentials.kind !== 'token';
    const basic = basicAuthorization(this.#options.credentials);
    return basic !== undefined && basic !== shown;
  }

  async #met(challenge: Challenge): Promise<boolean> {
    this.#value =
      challenge.scheme === 'basic'
        ? basicAuthorization(this.#options.credentials)
        : `Bearer ${await this.#token(challenge)}`;
    return true;
  }

  async #token(challenge: TokenChallenge): Promise<string> {
    const url = this.#realm(challenge);
    const { clock, life } = this.#options;
    const { response } = await this.#askForToken(url, challenge, AbortSignal.any([life, clock.deadline(TOKEN_MS)]));
    if (response.status !== 200) {
      const text = `${placeText(url)}: ${await refusalText(response)} (asked ${this.shownText})`;
      throw new RegistryError(response.status, text);
    }
    const answer = parseObject(await smallBody(response, MAX_TOKEN_BYTES), placeText(url));
    const token = textField(answer, 'access_token') || textField(answer, 'token');
    if (!/^[\x21-\x7e]+$/.test(token)) throw new RegistryError(0, `${placeText(url)}: answered without a token`);
    return token;
  }

  /** Credentials that came for a host with TLS do not go anywhere without. */
  #realm({ realm }: TokenChallenge): URL {
    const url = URL.canParse(realm) ? new URL(realm) : undefined;
    if (url?.protocol === 'https:') return url;
    const isFine =
      url?.protocol === 'http:' && (this.#options.credentials.kind === 'none' || this.#options.connection.isPlainHttp);
    if (isFine) return url;
    throw new RegistryError(
      0,
      `credentials are asked for at ${JSON.stringify(realm.slice(0, 200))}, and not sent there`,
    );
  }

  /** With an identity token as OAuth2 wants it, else with the password, if there is one. */
  #askForToken(url: URL, { service, scope }: TokenChallenge, signal: AbortSignal): Promise<Answer> {
    const what = new URLSearchParams(service === undefined ? {} : { service });
    what.set('scope', scope ?? this.#options.scope);
    if (this.#options.credentials.kind === 'identity') {
      what.set('grant_type', 'refresh_token');
      what.set('refresh_token', this.#options.credentials.token);
      what.set('client_id', CLIENT_ID);
      const headers = [['Content-Type', 'application/x-www-form-urlencoded'] as const];
      const form = { method: 'POST', headers, body: what.toString() } as const;
      return this.#options.connection.ask(url, form, () => [], signal);
    }
    for (const [name, value] of what) url.searchParams.set(name, value);
    const basic = basicAuthorization(this.#options.credentials);
    const secret = (at: URL): Headers =>
      basic !== undefined && at.origin === url.origin ? [['Authorization', basic]] : [];
    return this.#options.connection.ask(url, { method: 'GET', headers: [] }, secret, signal);
  }
}
