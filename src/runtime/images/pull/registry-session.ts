import type { AuthConfig } from '../../../cri/generated/runtime-v1.ts';
import { type HttpRequest, type HttpResponse, type Network, NetworkError } from '../../../host/network.ts';
import { parseChallenge } from './challenge.ts';
import { type RegistryPlace, registryPlace } from './registry-place.ts';

const MAX_REDIRECTS = 5;
/** Whom an authorization server takes us for. */
const CLIENT_ID = 'nodelet';
/** Manifests, configurations, tokens: nothing that is kept in memory is larger. */
export const MAX_SMALL_BYTES = 8 * 1024 * 1024;

export type RegistryNetwork = Pick<Network, 'lookup' | 'request'>;

/** An answer of a registry that is none of those that we can use. */
export class RegistryError extends Error {
  override readonly name = 'RegistryError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * One repository of a registry, for the length of a pull. A refusal is answered with what the challenge asks for, once;
 * the token is kept for what follows. Credentials never follow a redirect to another host, nor from HTTPS to plain HTTP.
 */
export class RegistrySession {
  readonly #network: RegistryNetwork;
  readonly #place: RegistryPlace;
  readonly #repository: string;
  readonly #auth: AuthConfig | undefined;
  #authorization: string | undefined;

  constructor(network: RegistryNetwork, registry: string, repository: string, auth: AuthConfig | undefined) {
    this.#network = network;
    this.#place = registryPlace(registry);
    this.#repository = repository;
    this.#auth = auth;
    if (auth?.registryToken) this.#authorization = `Bearer ${auth.registryToken}`;
  }

  /** `manifests/latest`, `blobs/sha256:…` of the repository. Rejects with a `RegistryError` unless it answers 200 or 206. */
  async get(path: string, headers: Headers, signal: AbortSignal): Promise<HttpResponse> {
    const url = new URL(`/v2/${this.#repository}/${path}`, urlOf(this.#place));
    let response = await this.#follow(url, headers, signal);
    if (response.status === 401 && (await this.#meet(response, signal)))
      response = await this.#follow(url, headers, signal);
    if (response.status === 200 || response.status === 206) return response;
    throw new RegistryError(response.status, `${url.href}: ${await refusalText(response)}`);
  }

  async #follow(url: URL, headers: Headers, signal: AbortSignal): Promise<HttpResponse> {
    let at = url;
    for (let left = MAX_REDIRECTS; left >= 0; left--) {
      const isHome = at.origin === url.origin;
      const authorization =
        isHome && this.#authorization !== undefined ? [['Authorization', this.#authorization] as const] : [];
      const response = await this.#request(at, { method: 'GET', headers: [...headers, ...authorization] }, signal);
      const next = response.headers['location'];
      if (response.status < 300 || response.status > 399 || next === undefined) return response;
      await leave(response);
      at = new URL(next, at);
      if (at.protocol !== 'https:' && at.protocol !== 'http:')
        throw new RegistryError(0, `${url.href}: redirected to ${at.protocol}`);
    }
    throw new RegistryError(0, `${url.href}: redirected more than ${MAX_REDIRECTS} times`);
  }

  /** Asks one address of the host after the other, until one answers. */
  async #request(url: URL, asked: Asked, signal: AbortSignal): Promise<HttpResponse> {
    const scheme = url.protocol === 'https:' ? 'https' : 'http';
    const port = Number(url.port) || (scheme === 'https' ? 443 : 80);
    const path = `${url.pathname}${url.search}`;
    const headers = [['Host', url.host] as const, ...asked.headers]; // also what the certificate has to be for
    const [first, ...others] = await this.#network.lookup(url.hostname.replace(/^\[|\]$/g, ''), signal);
    const ask = (host: string) =>
      this.#network.request({ ...asked, target: { host, port }, scheme, path, headers }, signal);
    let answer = ask(first);
    for (const host of others)
      answer = answer.catch((error: unknown) => (isAway(error) ? ask(host) : Promise.reject(error)));
    return answer;
  }

  /** Whether asking again may help; if not, the answer is still to be read. */
  async #meet(response: HttpResponse, signal: AbortSignal): Promise<boolean> {
    const challenge = parseChallenge(response.headers['www-authenticate'] ?? '');
    const basic = basicAuthorization(this.#auth);
    if (challenge === undefined || (challenge.scheme === 'basic' && basic === undefined)) return false;
    await leave(response);
    if (challenge.scheme === 'basic') {
      this.#authorization = basic;
      return true;
    }
    const url = new URL(challenge.realm);
    const answer = await this.#askForToken(url, challenge, signal);
    if (answer.status !== 200)
      throw new RegistryError(answer.status, `${url.origin}${url.pathname}: ${await refusalText(answer)}`);
    this.#authorization = `Bearer ${tokenOf(await smallBody(answer))}`;
    return true;
  }

  /** With an identity token as OAuth2 wants it, else with the password, if there is one. */
  #askForToken(url: URL, { service, scope }: TokenChallenge, signal: AbortSignal): Promise<HttpResponse> {
    const what = new URLSearchParams(service === undefined ? {} : { service });
    what.set('scope', scope ?? `repository:${this.#repository}:pull`);
    const { username, identityToken } = this.#auth ?? {};
    if (!username && identityToken) {
      what.set('grant_type', 'refresh_token');
      what.set('refresh_token', identityToken);
      what.set('client_id', CLIENT_ID);
      const headers = [['Content-Type', 'application/x-www-form-urlencoded'] as const];
      return this.#request(url, { method: 'POST', headers, body: what.toString() }, signal);
    }
    for (const [name, value] of what) url.searchParams.set(name, value);
    const basic = basicAuthorization(this.#auth);
    return this.#request(
      url,
      { method: 'GET', headers: basic === undefined ? [] : [['Authorization', basic]] },
      signal,
    );
  }
}

type Asked = Pick<HttpRequest, 'method' | 'body'> & { readonly headers: Headers };
type TokenChallenge = { readonly service?: string | undefined; readonly scope?: string | undefined };

/** Nobody has answered: another address of the same host may. */
function isAway(error: unknown): boolean {
  return error instanceof NetworkError;
}

type Headers = ReadonlyArray<readonly [name: string, value: string]>;

function urlOf({ scheme, host, port }: RegistryPlace): string {
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function basicAuthorization(auth: AuthConfig | undefined): string | undefined {
  if (auth?.auth) return `Basic ${auth.auth}`;
  if (!auth?.username && !auth?.password) return undefined;
  return `Basic ${Buffer.from(`${auth.username}:${auth.password}`).toString('base64')}`;
}

function tokenOf(body: Uint8Array): string {
  const answer: unknown = JSON.parse(new TextDecoder().decode(body));
  if (typeof answer === 'object' && answer !== null) {
    if ('token' in answer && typeof answer.token === 'string') return answer.token;
    if ('access_token' in answer && typeof answer.access_token === 'string') return answer.access_token;
  }
  throw new RegistryError(0, 'the authorization server answered without a token');
}

/** A manifest, a token: nothing that is meant to be large. */
export async function smallBody({ body }: HttpResponse): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > MAX_SMALL_BYTES) throw new RegistryError(0, `an answer of more than ${MAX_SMALL_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The registry's own words where it has some: `{errors: [{code, message}]}`. */
async function refusalText(response: HttpResponse): Promise<string> {
  const text = new TextDecoder().decode(await smallBody(response).catch(() => new Uint8Array()));
  const said = registryWords(text);
  return said === undefined ? `status ${response.status}` : `status ${response.status}: ${said}`;
}

function registryWords(text: string): string | undefined {
  try {
    const { errors } = JSON.parse(text) as {
      readonly errors?: ReadonlyArray<{ readonly code?: string; readonly message?: string }>;
    };
    const words = (errors ?? []).map(({ code, message }) => [code, message].filter(Boolean).join(': '));
    return words.length > 0 ? words.join(', ') : undefined;
  } catch {
    return undefined;
  }
}

/** Lets go of the connection without reading the rest. */
async function leave({ body }: HttpResponse): Promise<void> {
  await body[Symbol.asyncIterator]().return?.();
}
