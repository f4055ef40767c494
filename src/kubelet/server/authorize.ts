import type { SubjectAccessReviewSpec } from '../../api/generated/core-v1.ts';
import { TtlCache } from '../../base/ttl-cache.ts';
import type { Clock } from '../../host/clock.ts';
import type { ApiReviews } from '../api-client/api-reviews.ts';
import type { User } from './authenticate.ts';

export type AuthorizationSettings =
  | { readonly mode: 'AlwaysAllow' }
  | { readonly mode: 'Webhook'; readonly allowedTtlMs: number; readonly refusedTtlMs: number };

export interface AuthorizationDeps {
  readonly nodeName: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Limits the request to the API server. */
  deadline(): AbortSignal;
  readonly reviews?: Pick<ApiReviews, 'reviewAccess'> | undefined;
}

/** The requested access to the node; a right to one of the subresources is enough. */
export interface Access {
  readonly verb: string;
  readonly subresources: readonly string[];
}

export type AccessDecision =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'refused' }
  /** The review of this subresource failed. */
  | { readonly kind: 'failed'; readonly subresource: string; readonly error: unknown };

export type Authorize = (user: User, access: Access) => Promise<AccessDecision>;

const MAX_CACHED = 8192;
/** Longer keys are not cached, as in client-go's webhook authorizer. */
const MAX_KEY_LENGTH = 10_000;

const VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};
/** The first prefix that matches a path wins. */
const FINE: readonly (readonly [path: string, subresource: string])[] = [
  ['/pods', 'pods'],
  ['/healthz', 'healthz'],
  ['/configz', 'configz'],
  ['/runningpods', 'pods'],
];
const COARSE: readonly (readonly [path: string, subresource: string])[] = [
  ['/stats', 'stats'],
  ['/metrics', 'metrics'],
  ['/logs', 'log'],
  ['/checkpoint', 'checkpoint'],
  ['/statusz', 'statusz'],
  ['/flagz', 'configz'],
];

/** Returns the access to the node that a request needs. */
export function requestedAccess(method: string, path: string): Access {
  const find = (among: typeof FINE) => among.find(([prefix]) => path === prefix || path.startsWith(`${prefix}/`))?.[1];
  const fine = find(FINE);
  return { verb: VERBS[method] ?? '', subresources: [...(fine ? [fine] : []), find(COARSE) ?? 'proxy'] };
}

export function createAuthorize(settings: AuthorizationSettings, deps: AuthorizationDeps): Authorize {
  if (settings.mode === 'AlwaysAllow') return async () => ({ kind: 'allowed' });
  const { nodeName, clock, reviews, deadline } = deps;
  const { allowedTtlMs, refusedTtlMs } = settings;
  const answers = new TtlCache<boolean>(MAX_CACHED, clock, (allowed) => (allowed ? allowedTtlMs : refusedTtlMs));
  const ask = async (spec: SubjectAccessReviewSpec): Promise<boolean> => {
    if (!reviews) throw new Error('cannot review access: the node has no API server');
    return (await reviews.reviewAccess(spec, deadline())).allowed;
  };
  return async (user, { verb, subresources }) => {
    for (const subresource of subresources) {
      const spec = accessReview(user, { verb, version: 'v1', resource: 'nodes', subresource, name: nodeName });
      const key = JSON.stringify(spec);
      try {
        const isAllowed = key.length > MAX_KEY_LENGTH ? ask(spec) : answers.get(key, () => ask(spec));
        if (await isAllowed) return { kind: 'allowed' };
      } catch (error) {
        return { kind: 'failed', subresource, error };
      }
    }
    return { kind: 'refused' };
  };
}

function accessReview(
  { name, uid, groups, extra }: User,
  resourceAttributes: NonNullable<SubjectAccessReviewSpec['resourceAttributes']>,
): SubjectAccessReviewSpec {
  return {
    resourceAttributes,
    user: name,
    groups,
    ...(uid !== undefined && { uid }),
    ...(extra !== undefined && { extra }),
  };
}
