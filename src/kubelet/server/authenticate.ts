import { createHash } from 'node:crypto';
import type { UserInfo } from '../../api/generated/core-v1.ts';
import { TtlCache } from '../../base/ttl-cache.ts';
import type { Clock } from '../../host/clock.ts';
import type { TlsClient, TlsRequest } from '../../host/tls-server.ts';
import type { ApiReviews } from '../api-client/api-reviews.ts';
import { bearerToken } from './bearer-token.ts';

/** The client of a request. */
export interface User {
  readonly name: string;
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

export interface AuthenticationSettings {
  /** Accepts requests without credentials as `system:anonymous`. */
  readonly anonymous: boolean;
  /** Token reviews of the API server are cached for so long; absent: tokens are not accepted. */
  readonly webhookCacheTtlMs?: number | undefined;
}

export interface AuthenticationDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Limits the request to the API server. */
  deadline(): AbortSignal;
  /** Absent on a standalone node: tokens cannot be reviewed. */
  readonly reviews?: Pick<ApiReviews, 'reviewToken'> | undefined;
}

/** Returns `undefined` for an unknown client. Rejects when the credentials are invalid or cannot be checked. */
export type Authenticate = (request: Pick<TlsRequest, 'client' | 'headers'>) => Promise<User | undefined>;

const ANONYMOUS: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
const AUTHENTICATED = 'system:authenticated';
const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';
const MAX_TOKENS = 4096;

export function createAuthenticate(settings: AuthenticationSettings, deps: AuthenticationDeps): Authenticate {
  const { clock, reviews, deadline } = deps;
  const { webhookCacheTtlMs } = settings;
  const tokens = new TtlCache<User | undefined>(MAX_TOKENS, clock, () => webhookCacheTtlMs ?? 0);
  const ownerOf = async (token: string): Promise<User | undefined> => {
    if (webhookCacheTtlMs === undefined || !reviews) return undefined;
    // Hashed, so that the cache holds no tokens.
    const key = createHash('sha256').update(token).digest('base64');
    return tokens.get(key, async () => {
      const { authenticated, user, error } = await reviews.reviewToken({ token }, deadline());
      if (authenticated) return user && reviewedUser(user);
      if (error) throw new Error(error);
      return undefined;
    });
  };
  return async ({ client, headers }) => {
    const shown = client.kind === 'known' ? certificateUser(client) : undefined;
    if (shown) return authenticated(shown);
    const token = bearerToken(headers);
    const owner = token === undefined ? undefined : await ownerOf(token);
    if (owner) return authenticated(owner);
    // A request with invalid credentials is not anonymous.
    if (client.kind === 'untrusted') throw new Error(`the certificate of the client is not trusted: ${client.reason}`);
    if (token !== undefined && webhookCacheTtlMs !== undefined) throw new Error('invalid bearer token');
    return settings.anonymous ? ANONYMOUS : undefined;
  };
}

function certificateUser(client: Extract<TlsClient, { kind: 'known' }>): User | undefined {
  const { commonName, organizations, fingerprint } = client;
  if (commonName === '') return undefined;
  return { name: commonName, groups: organizations, extra: { [CREDENTIAL_ID]: [`X509SHA256=${fingerprint}`] } };
}

function reviewedUser({ username = '', uid, groups = [], extra }: UserInfo): User {
  return { name: username, uid, groups, extra };
}

function authenticated(user: User): User {
  if (user.name === ANONYMOUS.name || user.groups.includes(AUTHENTICATED)) return user;
  return { ...user, groups: [...user.groups, AUTHENTICATED] };
}
