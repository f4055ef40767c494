import type { Pod, TokenRequestSpec } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import { parseTime } from '../../base/rfc3339.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import type { ApiServer, IssuedToken, ServiceAccountKey } from '../api-client/api-server.ts';
import { type PodTokens, TokenError, type TokenOptions } from './pod-tokens.ts';

/** The API server's own default. */
const DEFAULT_SECONDS = 3600;
const MAX_AGE_MS = 24 * 3_600_000;
const MAX_JITTER_SECONDS = 10;

export interface ServiceAccountTokensDeps {
  readonly api: Pick<ApiServer, 'createToken'>;
  /** Called when a token of the pod was renewed. */
  readonly onChange: (uid: string) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface TokenRequest {
  readonly key: string;
  readonly uid: string;
  readonly account: ServiceAccountKey;
  readonly spec: TokenRequestSpec;
}

/** Wall-clock milliseconds, as the API server and the verifiers of the token count them. */
export interface TokenLifetime {
  readonly expiresMs: number;
  /** When a new token is requested. */
  readonly renewMs: number;
}

interface CachedToken extends TokenLifetime, IssuedToken {
  readonly uid: string;
}

/**
 * Tokens of service accounts, each bound to a pod.
 *
 * 1. A pod waits for its first token, and for a new one after expiry.
 * 2. A token that is due for renewal is renewed in the background by the next request, which gets the old token. The
 *    pod is woken when the new one is there. A failed renewal is retried by the next request.
 * 3. Tokens are dropped with their pod. They never appear in messages or logs.
 */
export class ServiceAccountTokens implements PodTokens {
  readonly #deps: ServiceAccountTokensDeps;
  readonly #life: AbortSignal;
  readonly #cache = new Map<string, CachedToken>();
  readonly #renewing = new Set<string>();

  /** Renewals end when `life` aborts. */
  constructor(deps: ServiceAccountTokensDeps, life: AbortSignal) {
    this.#deps = deps;
    this.#life = life;
  }

  async token(pod: Pod, options: TokenOptions, signal: AbortSignal): Promise<string> {
    return (await this.issued(pod, options, signal)).token;
  }

  async issued(pod: Pod, options: TokenOptions, signal: AbortSignal): Promise<IssuedToken> {
    const request = tokenRequest(pod, options);
    const held = this.#cache.get(request.key);
    const nowMs = this.#deps.clock.now();
    if (!held || nowMs > held.expiresMs) return this.#fetch(request, held, signal);
    if (nowMs > held.renewMs && !this.#renewing.has(request.key)) void this.#renew(request, held);
    return held;
  }

  forget(uid: string): void {
    for (const [key, held] of this.#cache) if (held.uid === uid) this.#cache.delete(key);
  }

  async #fetch(request: TokenRequest, expired: CachedToken | undefined, signal: AbortSignal): Promise<IssuedToken> {
    try {
      const fresh = await this.#request(request, signal);
      this.#cache.set(request.key, fresh);
      return fresh;
    } catch (error) {
      signal.throwIfAborted();
      const what = expired ? `token ${request.key} expired and refresh failed` : 'failed to fetch token';
      throw new TokenError(`${what}: ${errorText(error)}`, { cause: error });
    }
  }

  async #renew(request: TokenRequest, held: CachedToken): Promise<void> {
    const { key, uid } = request;
    this.#renewing.add(key);
    try {
      const fresh = await this.#request(request, this.#life);
      if (this.#cache.get(key) !== held) return; // the pod was removed meanwhile
      this.#cache.set(key, fresh);
      this.#deps.onChange(uid);
    } catch (error) {
      if (!this.#life.aborted) this.#deps.log.warn('cannot renew service account token', { key, error });
    } finally {
      this.#renewing.delete(key);
    }
  }

  async #request({ account, spec, uid }: TokenRequest, signal: AbortSignal): Promise<CachedToken> {
    const { api, clock, random } = this.#deps;
    const { token, expirationTimestamp } = await api.createToken(account, spec, signal);
    const expiresMs = parseTime(expirationTimestamp);
    const { expirationSeconds = DEFAULT_SECONDS } = spec;
    return {
      uid,
      token,
      expirationTimestamp,
      ...tokenLifetime(expiresMs, expirationSeconds, clock.now(), random.fraction()),
    };
  }
}

function tokenRequest({ metadata, spec }: Pod, options: TokenOptions): TokenRequest {
  const { namespace, name, uid } = metadata;
  const { audience, expirationSeconds, accountUid } = options;
  const account = { namespace, name: spec.serviceAccountName ?? '', uid: accountUid };
  const wanted = {
    ...(audience && { audiences: [audience] }),
    ...(expirationSeconds !== undefined && { expirationSeconds }),
    boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name, uid },
  };
  return { key: tokenKey(account, wanted), uid, account, spec: wanted };
}

/**
 * A token is renewed when 20 % of its lifetime is left or when it is 24 hours old, up to ten seconds earlier, so that
 * tokens issued together are not renewed together. `fraction` is random, in [0, 1).
 */
export function tokenLifetime(expiresMs: number, askedSeconds: number, nowMs: number, fraction: number): TokenLifetime {
  // The server may issue a shorter lifetime than requested. If its clock differs, the requested lifetime is the better
  // estimate.
  const lifeMs = Math.max(0, Math.min(askedSeconds * 1000, expiresMs - nowMs));
  const jitterMs = Math.floor(fraction * MAX_JITTER_SECONDS) * 1000;
  const lastFifthMs = expiresMs - lifeMs / 5;
  const dayOldMs = expiresMs - lifeMs + MAX_AGE_MS;
  return { expiresMs, renewMs: Math.min(lastFifthMs, dayOldMs) - jitterMs };
}

/** Identifies a token without secrets: kubelet shows it in a message, in Go's syntax. */
function tokenKey({ namespace, name, uid: accountUid }: ServiceAccountKey, spec: TokenRequestSpec): string {
  const { audiences, expirationSeconds = 0, boundObjectRef = {} } = spec;
  const audienceText = audiences ? `[]string{${audiences.map(quoted).join(', ')}}` : '[]string(nil)';
  const { kind, apiVersion, name: boundName, uid } = boundObjectRef;
  const fields = Object.entries({ Kind: kind, APIVersion: apiVersion, Name: boundName, UID: uid });
  const bound = `v1.BoundObjectReference{${fields.map(([field, value]) => `${field}:${quoted(value)}`).join(', ')}}`;
  return [quoted(name), quoted(namespace), audienceText, String(expirationSeconds), bound, quoted(accountUid)].join(
    '/',
  );
}

function quoted(text = ''): string {
  return JSON.stringify(text);
}
