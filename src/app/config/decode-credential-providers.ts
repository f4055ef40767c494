import { parseDuration } from '../../base/duration.ts';
import { errorText } from '../../base/error-text.ts';

/** One provider of a CredentialProviderConfig, as it stands in the file; what is left out is empty. */
export interface CredentialProviderEntry {
  readonly name: string;
  readonly matchImages: readonly string[];
  readonly defaultCacheDuration: string | undefined;
  readonly apiVersion: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** Absent: it wants nothing of the service accounts of pods. */
  readonly tokenAttributes: TokenAttributesEntry | undefined;
}

/** What a provider wants of the service accounts of pods, as it stands in the file. */
export interface TokenAttributesEntry {
  readonly serviceAccountTokenAudience: string;
  readonly cacheType: string;
  readonly requireServiceAccount: boolean | undefined;
  readonly requiredServiceAccountAnnotationKeys: readonly string[];
  readonly optionalServiceAccountAnnotationKeys: readonly string[];
}

export type DecodedProviders =
  | { readonly providers: readonly CredentialProviderEntry[] }
  | { readonly message: string };

const KIND = 'CredentialProviderConfig';
const GROUP = 'kubelet.config.k8s.io';
const VERSIONS = ['v1', 'v1beta1', 'v1alpha1'];
/** The only version that knows tokens of service accounts. */
const VERSION_WITH_TOKENS = 'v1';

/** From what YAML or JSON says. As with kubelet, an unknown field is a message. */
export function decodeProviders(value: unknown): DecodedProviders {
  try {
    const { apiVersion = '', kind = '', providers = [], ...unknown } = fieldsOf(value, '');
    const [group = '', version = ''] = String(apiVersion).split('/');
    if (kind === '') throw new Error("Object 'Kind' is missing");
    if (kind !== KIND) throw new Error(`failed to decode "${String(kind)}" (wrong Kind)`);
    if (group !== GROUP || !VERSIONS.includes(version)) {
      throw new Error(`no kind "${KIND}" is registered for version "${String(apiVersion)}"`);
    }
    refuseUnknown(unknown, '');
    const entries = listOf(providers, 'providers');
    return { providers: entries.map((one, index) => entryOf(one, `providers[${index}]`, version)) };
  } catch (error) {
    return { message: errorText(error) };
  }
}

type Fields = Readonly<Record<string, unknown>>;

function entryOf(value: unknown, path: string, version: string): CredentialProviderEntry {
  const fields = fieldsOf(value, path);
  const { name, matchImages, defaultCacheDuration, apiVersion, args, env, tokenAttributes, ...unknown } = fields;
  refuseUnknown(unknown, path);
  if (version !== VERSION_WITH_TOKENS && tokenAttributes !== undefined) refuseUnknown({ tokenAttributes }, path);
  return {
    name: textAt(name, `${path}.name`),
    matchImages: texts(matchImages, `${path}.matchImages`),
    defaultCacheDuration: durationAt(defaultCacheDuration, `${path}.defaultCacheDuration`),
    apiVersion: textAt(apiVersion, `${path}.apiVersion`),
    args: texts(args, `${path}.args`),
    env: listOf(env, `${path}.env`).map((one, index) => variableOf(one, `${path}.env[${index}]`)),
    tokenAttributes: tokenAttributesAt(tokenAttributes, `${path}.tokenAttributes`),
  };
}

function tokenAttributesAt(value: unknown, path: string): TokenAttributesEntry | undefined {
  if (value === undefined || value === null) return undefined;
  const {
    serviceAccountTokenAudience,
    cacheType,
    requireServiceAccount,
    requiredServiceAccountAnnotationKeys: requiredKeys,
    optionalServiceAccountAnnotationKeys: optionalKeys,
    ...unknown
  } = fieldsOf(value, path);
  refuseUnknown(unknown, path);
  return {
    serviceAccountTokenAudience: textAt(serviceAccountTokenAudience, `${path}.serviceAccountTokenAudience`),
    cacheType: textAt(cacheType, `${path}.cacheType`),
    requireServiceAccount: switchAt(requireServiceAccount, `${path}.requireServiceAccount`),
    requiredServiceAccountAnnotationKeys: texts(requiredKeys, `${path}.requiredServiceAccountAnnotationKeys`),
    optionalServiceAccountAnnotationKeys: texts(optionalKeys, `${path}.optionalServiceAccountAnnotationKeys`),
  };
}

function variableOf(value: unknown, path: string): { readonly name: string; readonly value: string } {
  const { name, value: content, ...unknown } = fieldsOf(value, path);
  refuseUnknown(unknown, path);
  return { name: textAt(name, `${path}.name`), value: textAt(content, `${path}.value`) };
}

function fieldsOf(value: unknown, path: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.fromEntries(Object.entries(value));
  throw new Error(`${path === '' ? 'the document' : path}: expected a map`);
}

function refuseUnknown(unknown: Fields, path: string): void {
  const [first] = Object.keys(unknown);
  if (first !== undefined)
    throw new Error(`strict decoding error: unknown field "${path === '' ? '' : `${path}.`}${first}"`);
}

function listOf(value: unknown, path: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw new Error(`${path}: expected a list`);
}

function texts(value: unknown, path: string): readonly string[] {
  return listOf(value, path).map((one, index) => textAt(one, `${path}[${index}]`));
}

function textAt(value: unknown, path: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  throw new Error(`${path}: expected a string`);
}

function switchAt(value: unknown, path: string): boolean | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'boolean') return value;
  throw new Error(`${path}: expected true or false`);
}

function durationAt(value: unknown, path: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  const text = textAt(value, path);
  parseDuration(text); // Go's message names the text
  return text;
}
