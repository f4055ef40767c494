import type { Pod, TokenRequestSpec } from '../../api/generated/core-v1.ts';
import type { Log } from '../../base/log.ts';
import { parseTime } from '../../base/rfc3339.ts';
import { errorText } from '../../base/error-text.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import type { ApiServer, ServiceAccountKey } from '../api-client/api-server.ts';
import { type PodTokens, TokenError, type TokenWish } from './pod-tokens.ts';
import { tokenKey } from './token-key.ts';
import { type TokenLife, tokenLife } from './token-life.ts';

/** The API server's own default. */
const DEFAULT_SECONDS = 3600;

export interface ServiceAccountTokensDeps {
  readonly api: Pick<ApiServer, 'createToken'>;
  /** A pod's token is another than before. */
  readonly changed: (uid: string) => void;
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

interface HeldToken extends TokenLife {
  readonly uid: string;
  readonly token: string;
}

/**
 * Tokens of service accounts, each bound to a pod.
 *
 * 1. A pod waits for its first token, and for one in the place of a token that has expired.
 * 2. A token that is late in its life is renewed by the next who asks for it, who gets the old one and does not wait;
 *    once the new one is there, the pod is woken. What fails is tried again at the next asking.
 * 3. Tokens go with their pod. They are in no message and no log.
 */
export class ServiceAccountTokens implements PodTokens {
  readonly #deps: ServiceAccountTokensDeps;
  readonly #life: AbortSignal;
  readonly #held = new Map<string, HeldToken>();
  readonly #renewing = new Set<string>();

  /** Renewals end with `life`. */
  constructor(deps: ServiceAccountTokensDeps, life: AbortSignal) {
    this.#deps = deps;
    this.#life = life;
  }

  async token(pod: Pod, wish: TokenWish, signal: AbortSignal): Promise<string> {
    const request = requestFor(pod, wish);
    const held = this.#held.get(request.key);
    const nowMs = this.#deps.clock.now();
    if (!held || nowMs > held.expiresMs) return this.#fetch(request, held, signal);
    if (nowMs > held.renewMs && !this.#renewing.has(request.key)) void this.#renew(request, held);
    return held.token;
  }

  forget(uid: string): void {
    for (const [key, held] of this.#held) if (held.uid === uid) this.#held.delete(key);
  }

  async #fetch(request: TokenRequest, expired: HeldToken | undefined, signal: AbortSignal): Promise<string> {
    try {
      const fresh = await this.#ask(request, signal);
      this.#held.set(request.key, fresh);
      return fresh.token;
    } catch (error) {
      signal.throwIfAborted();
      const what = expired ? `token ${request.key} expired and refresh failed` : 'failed to fetch token';
      throw new TokenError(`${what}: ${errorText(error)}`, { cause: error });
    }
  }

  async #renew(request: TokenRequest, held: HeldToken): Promise<void> {
    const { key, uid } = request;
    this.#renewing.add(key);
    try {
      const fresh = await this.#ask(request, this.#life);
      if (this.#held.get(key) !== held) return; // the pod has gone meanwhile
      this.#held.set(key, fresh);
      this.#deps.changed(uid);
    } catch (error) {
      if (!this.#life.aborted) this.#deps.log.warn('cannot renew a service account token', { key, error });
    } finally {
      this.#renewing.delete(key);
    }
  }

  async #ask({ account, spec, uid }: TokenRequest, signal: AbortSignal): Promise<HeldToken> {
    const { api, clock, random } = this.#deps;
    const { token, expirationTimestamp } = await api.createToken(account, spec, signal);
    const expiresMs = parseTime(expirationTimestamp);
    const { expirationSeconds = DEFAULT_SECONDS } = spec;
    return { uid, token, ...tokenLife(expiresMs, expirationSeconds, clock.now(), random.fraction()) };
  }
}

function requestFor({ metadata, spec }: Pod, wish: TokenWish): TokenRequest {
  const { namespace, name, uid } = metadata;
  const { audience, expirationSeconds, accountUid } = wish;
  const account = { namespace, name: spec.serviceAccountName ?? '', uid: accountUid };
  const wanted = {
    ...(audience && { audiences: [audience] }),
    ...(expirationSeconds !== undefined && { expirationSeconds }),
    boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name, uid },
  };
  return { key: tokenKey(account, wanted), uid, account, spec: wanted };
}
