import { createHash } from 'node:crypto';
import type { PodAccount, TokenAttributes } from './pod-account.ts';
import type { CacheKeyType } from './provider-exchange.ts';

/** The service account that a provider runs for. Absent: its response applies to every pod. */
export interface AccountScope {
  readonly account: PodAccount;
  readonly cacheType: TokenAttributes['cacheType'];
}

/** The cache key of a response. It contains no secrets. */
export function cacheKey(type: CacheKeyType, repository: string, scope: AccountScope | undefined): string {
  return JSON.stringify([cachedAddress(type, repository), ...(scope ? accountParts(scope) : [])]);
}

/** Requests with the same key share one run. */
export function inFlightKey(repository: string, scope: AccountScope | undefined): string {
  if (!scope) return JSON.stringify([repository]);
  const { token, annotations } = scope.account;
  return JSON.stringify([repository, hashOf(token), Object.entries(annotations)]);
}

function cachedAddress(type: CacheKeyType, repository: string): string {
  if (type === 'Global') return '<global>';
  return type === 'Image' ? repository : (repository.split('/', 1)[0] ?? '');
}

function accountParts({ account, cacheType }: AccountScope): readonly unknown[] {
  const { namespace, name, uid, annotations, token } = account;
  const parts = [namespace, name, uid, Object.entries(annotations)];
  return cacheType === 'Token' ? [...parts, hashOf(token)] : parts;
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
