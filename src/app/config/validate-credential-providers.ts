import {
  type FieldError,
  type FieldErrors,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../api/field-error.ts';
import { parseDuration } from '../../base/duration.ts';
import { textOf } from '../../base/text-of.ts';
import { EXCHANGE_VERSIONS } from '../../kubelet/images/provider-exchange.ts';
import { parseRegistryPattern } from '../../kubelet/images/registry-pattern.ts';
import type { CredentialProviderEntry } from './decode-credential-providers.ts';

/** kubelet's objections to a CredentialProviderConfig. Its paths name no index. */
export function validateProviders(providers: readonly CredentialProviderEntry[]): readonly FieldError[] {
  if (providers.length === 0) return [required('providers', 'at least 1 item in plugins is required')];
  return providers.flatMap((provider) => [...providerErrors(provider)]);
}

function* providerErrors(provider: CredentialProviderEntry): FieldErrors {
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
  if (provider.usesServiceAccountTokens) {
    const why = `provider "${provider.name}" asks for service account tokens, which Nodelet does not support yet`;
    yield forbidden('providers.tokenAttributes', why);
  }
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
    yield invalid('providers.matchImages', pattern, `match image is invalid: ${textOf(error)}`);
  }
}
