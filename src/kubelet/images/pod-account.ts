import type { Pod, ServiceAccount } from '../../api/generated/core-v1.ts';
import { byCodePoint } from '../../base/code-point-order.ts';
import { errorText } from '../../base/error-text.ts';
import type { ApiServer } from '../api-client/api-server.ts';
import type { PodTokens } from '../tokens/pod-tokens.ts';
import { ProviderError } from './provider-exchange.ts';
import type { ObjectCoordinates } from './registry-login.ts';

/** The service account data that a credential provider requests: `tokenAttributes` of its configuration. */
export interface TokenAttributes {
  /** The audience of the token. */
  readonly audience: string;
  /** Whether responses are cached per service account or per token. */
  readonly cacheType: 'ServiceAccount' | 'Token';
  /** The provider runs only for pods with a service account. */
  readonly requireServiceAccount: boolean;
  /** Annotations that are passed to the provider, and without which it does not run. */
  readonly requiredAnnotations: readonly string[];
  /** Annotations that are passed to the provider if the account has them. */
  readonly optionalAnnotations: readonly string[];
}

/** The service account of a pod, as it is passed to a provider. */
export interface PodAccount extends ObjectCoordinates {
  /** Sorted by name. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Bound to the pod. */
  readonly token: string;
}

export type AccountLookup =
  | { readonly kind: 'account'; readonly account: PodAccount }
  /** The pod has no account, and the provider runs without one. */
  | { readonly kind: 'none' }
  /** The provider does not run for this pod. */
  | { readonly kind: 'notAsked'; readonly why: string };

export interface PodAccountDeps {
  readonly api: Pick<ApiServer, 'get'>;
  readonly tokens: Pick<PodTokens, 'token'>;
}

/**
 * Requests the account from the API server each time, because its annotations and its UID decide what a pod may pull.
 * Rejects with a `ProviderError`.
 */
export async function lookUpPodAccount(
  pod: Pod,
  attributes: TokenAttributes,
  { api, tokens }: PodAccountDeps,
  signal: AbortSignal,
): Promise<AccountLookup> {
  const { namespace } = pod.metadata;
  const { serviceAccountName: name = '' } = pod.spec;
  if (name === '') {
    return attributes.requireServiceAccount
      ? { kind: 'notAsked', why: 'Service account name is empty' }
      : { kind: 'none' };
  }
  const key = { resource: 'serviceaccounts', namespace, name } as const;
  const found = await withProviderError('failed to get service account', api.get(key, signal), signal);
  const annotations = chosenAnnotations(found, attributes);
  if ('missing' in annotations) {
    return { kind: 'notAsked', why: `required annotation ${annotations.missing} not found` };
  }
  const { uid = '' } = found.metadata;
  const options = { audience: attributes.audience, accountUid: uid };
  const token = await withProviderError(
    'failed to get service account token',
    tokens.token(pod, options, signal),
    signal,
  );
  return { kind: 'account', account: { uid, namespace, name, annotations: annotations.chosen, token } };
}

function chosenAnnotations(
  { metadata: { annotations = {} } }: ServiceAccount,
  { requiredAnnotations, optionalAnnotations }: TokenAttributes,
): { readonly chosen: Readonly<Record<string, string>> } | { readonly missing: string } {
  const missing = requiredAnnotations.find((key) => !Object.hasOwn(annotations, key));
  if (missing !== undefined) return { missing };
  const asked = new Set([...requiredAnnotations, ...optionalAnnotations]);
  const chosen = Object.entries(annotations).filter(([key]) => asked.has(key));
  return { chosen: Object.fromEntries(chosen.sort(([one], [other]) => byCodePoint(one, other))) };
}

async function withProviderError<T>(what: string, answer: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    signal.throwIfAborted();
    throw new ProviderError(`${what}: ${errorText(error)}`, { cause: error });
  }
}
