import {
  type FieldError,
  type FieldErrors,
  invalid,
  notSupported,
  required,
} from '../../api/validation/field-error.ts';
import { parseDuration } from '../../base/duration.ts';
import { errorText } from '../../base/error-text.ts';
import { EXCHANGE_VERSIONS } from '../../kubelet/images/provider-exchange.ts';
import { parseRegistryPattern } from '../../kubelet/images/registry-pattern.ts';
import type { CredentialProviderEntry } from './decode-credential-providers.ts';
import { type TokenSupport, tokenErrors } from './validate-token-attributes.ts';

/** kubelet's validation errors of a CredentialProviderConfig, and our own where no tokens can be issued. Paths have no index. */
export function validateProviders(
  providers: readonly CredentialProviderEntry[],
  tokens: TokenSupport,
): readonly FieldError[] {
  if (providers.length === 0) return [required('providers', 'at least 1 item in plugins is required')];
  return providers.flatMap((provider) => [...providerErrors(provider, tokens)]);
}

function* providerErrors(provider: CredentialProviderEntry, tokens: TokenSupport): FieldErrors {
  yield* nameErrors(provider.name);
  const { apiVersion, matchImages, defaultCacheDuration: duration } = provider;
  if (apiVersion === '') yield required('providers.apiVersion');
  else if (!EXCHANGE_VERSIONS.includes(apiVersion)) {
    yield notSupported('providers.apiVersion', apiVersion, EXCHANGE_VERSIONS);
  }
  if (matchImages.length === 0) {
    yield required('providers.matchImages', 'at least 1 item in matchImages is required');
  }
  yield* matchImages.flatMap((pattern) => [...patternErrors(pattern)]);
  if (duration === undefined) yield required('providers.defaultCacheDuration');
  else if (parseDuration(duration) < 0n) {
    yield invalid('providers.defaultCacheDuration', duration, 'must be greater than or equal to 0');
  }
  yield* tokenErrors(provider, tokens);
}

function* nameErrors(name: string): FieldErrors {
  const path = 'providers.name';
  if (name.includes('/')) yield invalid(path, name, "provider name cannot contain '/'");
  if (name.includes(' ')) yield invalid(path, name, 'provider name cannot contain spaces');
  if (name === '.') yield invalid(path, name, "provider name cannot be '.'");
  if (name === '..') yield invalid(path, name, "provider name cannot be '..'");
}

function* patternErrors(pattern: string): FieldErrors {
  try {
    parseRegistryPattern(pattern);
  } catch (error) {
    yield invalid('providers.matchImages', pattern, `match image is invalid: ${errorText(error)}`);
  }
}
