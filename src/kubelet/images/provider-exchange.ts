import { parseDurationMs } from '../../base/duration.ts';
import type { DockerConfig, RegistryLogin } from './registry-login.ts';

/** The versions of the exchange with a credential provider. */
export const EXCHANGE_VERSIONS: readonly string[] = ['v1', 'v1alpha1', 'v1beta1'].map(
  (version) => `credentialprovider.kubelet.k8s.io/${version}`,
);

/** Which requests a cached response applies to. */
export type CacheKeyType = 'Image' | 'Registry' | 'Global';

export interface ProviderResponse {
  readonly logins: DockerConfig;
  readonly cacheKeyType: CacheKeyType;
  /** 0: not cached. Absent: the configured default. */
  readonly cacheMs: number | undefined;
}

/** A provider failed or its response is invalid. The messages are kubelet's and never quote a credential. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
}

/** The service account data in a request. */
export interface AccountInRequest {
  readonly token: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** The standard input of a provider. */
export function providerRequest(apiVersion: string, repository: string, account?: AccountInRequest): string {
  const { token, annotations = {} } = account ?? {};
  const request = {
    kind: 'CredentialProviderRequest',
    apiVersion,
    image: repository,
    ...(token && { serviceAccountToken: token }),
    ...(Object.keys(annotations).length > 0 && { serviceAccountAnnotations: annotations }),
  };
  return `${JSON.stringify(request)}\n`;
}

/** Parses the standard output of a provider. Throws a `ProviderError`. */
export function parseProviderResponse(text: string, expectedVersion: string): ProviderResponse {
  const response = parseJson(text);
  const { apiVersion, kind, cacheKeyType, cacheDuration, auth, ...unknown } = response;
  const version = stringOf(apiVersion);
  if (version !== expectedVersion) {
    const versions = `expected apiVersion:${expectedVersion}, actual apiVersion:${version}`;
    throw new ProviderError(`apiVersion from credential plugin response did not match ${versions}`);
  }
  if (kind !== 'CredentialProviderResponse' || Object.keys(unknown).length > 0) throw decodeError();
  const logins = new Map(
    Object.entries(jsonFields(auth)).map(([place, login]) => [place, decodeLogin(jsonFields(login))]),
  );
  const cacheMs = decodeDuration(cacheDuration);
  const keyType = stringOf(cacheKeyType);
  if (keyType !== 'Image' && keyType !== 'Registry' && keyType !== 'Global') {
    throw new ProviderError(`credential provider plugin did not return a valid cacheKeyType: ${keyType}`);
  }
  return { logins, cacheKeyType: keyType, cacheMs };
}

type Fields = Readonly<Record<string, unknown>>;

function parseJson(text: string): Fields {
  try {
    return jsonFields(JSON.parse(text));
  } catch {
    throw new ProviderError('error reading GVK from response: it is not a JSON object');
  }
}

/** Null counts as absent. */
function jsonFields(value: unknown): Fields {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw decodeError();
  return Object.fromEntries(Object.entries(value));
}

/** Null counts as absent. */
function stringOf(value: unknown): string {
  const text = value ?? '';
  if (typeof text !== 'string') throw decodeError();
  return text;
}

function decodeLogin({ username = '', password = '', ...unknown }: Fields): RegistryLogin {
  if (typeof username !== 'string' || typeof password !== 'string') throw decodeError();
  if (Object.keys(unknown).length > 0) throw decodeError();
  return { username, password, email: '' };
}

function decodeDuration(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  try {
    if (typeof value === 'string') return parseDurationMs(value);
  } catch {
    // Falls through to the common error: the response contains credentials and is not quoted.
  }
  throw decodeError();
}

function decodeError(): ProviderError {
  return new ProviderError('error decoding credential provider plugin response from stdout');
}
