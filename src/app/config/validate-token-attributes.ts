import {
  duplicate,
  type FieldErrors,
  forbidden,
  invalid,
  invalidFor,
  notSupported,
  required,
} from '../../api/validation/field-error.ts';
import { byCodePoint } from '../../base/code-point-order.ts';
import { qualifiedNameErrors } from '../../base/name-syntax.ts';
import type { TokenAttributes } from '../../kubelet/images/pod-account.ts';
import type { CredentialProviderEntry, TokenAttributesEntry } from './decode-credential-providers.ts';

/** Whether providers can have tokens of service accounts. */
export type TokenSupport =
  | 'available'
  /** The feature gate is off. */
  | 'disabled'
  /** Standalone: no API server issues tokens. */
  | 'standalone';

export const TOKENS_GATE = 'KubeletServiceAccountTokenForCredentialProviders';

const CACHE_TYPES: readonly string[] = ['ServiceAccount', 'Token'] satisfies TokenAttributes['cacheType'][];
const EXCHANGE_VERSION = 'credentialprovider.kubelet.k8s.io/v1';
const PATH = 'providers.tokenAttributes';

/** kubelet's objections to what a provider wants of service accounts; the one about a node that stands alone is ours. */
export function* tokenErrors(provider: CredentialProviderEntry, tokens: TokenSupport): FieldErrors {
  const { tokenAttributes, apiVersion, name } = provider;
  if (!tokenAttributes) return;
  if (tokens === 'disabled') {
    yield forbidden(PATH, `tokenAttributes is not supported when ${TOKENS_GATE} feature gate is disabled`);
  }
  if (tokenAttributes.serviceAccountTokenAudience === '') yield required(`${PATH}.serviceAccountTokenAudience`);
  if (tokenAttributes.requireServiceAccount === undefined) yield required(`${PATH}.requireServiceAccount`);
  if (apiVersion !== EXCHANGE_VERSION) {
    yield forbidden(PATH, `tokenAttributes is only supported for ${EXCHANGE_VERSION} API version`);
  }
  yield* annotationErrors(tokenAttributes);
  yield* cacheTypeErrors(tokenAttributes.cacheType);
  if (tokens === 'standalone') {
    const why = 'which only an API server gives out: name one with --kubeconfig';
    yield forbidden(PATH, `provider "${name}" asks for service account tokens, ${why}`);
  }
}

function* annotationErrors(attributes: TokenAttributesEntry): FieldErrors {
  const { requiredServiceAccountAnnotationKeys: needed, optionalServiceAccountAnnotationKeys: optional } = attributes;
  const neededPath = `${PATH}.requiredServiceAccountAnnotationKeys`;
  if (attributes.requireServiceAccount === false && needed.length > 0) {
    const why = 'requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set';
    yield forbidden(neededPath, why);
  }
  yield* keyErrors(neededPath, needed);
  yield* keyErrors(`${PATH}.optionalServiceAccountAnnotationKeys`, optional);
  const both = [...new Set(needed).intersection(new Set(optional))].sort(byCodePoint);
  if (both.length > 0) yield invalid(PATH, both, 'annotation keys cannot be both required and optional');
}

function* keyErrors(path: string, keys: readonly string[]): FieldErrors {
  for (const [index, key] of keys.entries()) {
    yield* invalidFor(path, key, qualifiedNameErrors(key.toLowerCase()));
    if (keys.indexOf(key) < index) yield duplicate(path, key);
  }
}

function* cacheTypeErrors(cacheType: string): FieldErrors {
  const path = `${PATH}.cacheType`;
  if (cacheType === '') {
    const supported = `Supported values are: ${CACHE_TYPES.join(', ')}`;
    yield required(path, `cacheType is required to be set when tokenAttributes is specified. ${supported}`);
  } else if (!CACHE_TYPES.includes(cacheType)) {
    yield notSupported(path, cacheType, CACHE_TYPES);
  }
}
