import { parseDuration } from '../../base/duration.ts';
import { textOf } from '../../base/text-of.ts';

/** One provider of a CredentialProviderConfig, as it stands in the file; what is left out is empty. */
export interface CredentialProviderEntry {
  readonly name: string;
  readonly matchImages: readonly string[];
  readonly defaultCacheDuration: string | undefined;
  readonly apiVersion: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly usesServiceAccountTokens: boolean;
}

export type DecodedProviders = { readonly providers: readonly CredentialProviderEntry[] } | { readonly fault: string };

const KIND = 'CredentialProviderConfig';
const GROUP = 'kubelet.config.k8s.io';
const VERSIONS = ['v1', 'v1beta1', 'v1alpha1'];

/** From what YAML or JSON says. As with kubelet, an unknown field is a fault. */
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
    return { providers: listOf(providers, 'providers').map((one, index) => entryOf(one, `providers[${index}]`)) };
  } catch (error) {
    return { fault: textOf(error) };
  }
}

type Fields = Readonly<Record<string, unknown>>;

function entryOf(value: unknown, path: string): CredentialProviderEntry {
  const fields = fieldsOf(value, path);
  const { name, matchImages, defaultCacheDuration, apiVersion, args, env, tokenAttributes, ...unknown } = fields;
  refuseUnknown(unknown, path);
  return {
    name: textAt(name, `${path}.name`),
    matchImages: texts(matchImages, `${path}.matchImages`),
    defaultCacheDuration: durationAt(defaultCacheDuration, `${path}.defaultCacheDuration`),
    apiVersion: textAt(apiVersion, `${path}.apiVersion`),
    args: texts(args, `${path}.args`),
    env: listOf(env, `${path}.env`).map((one, index) => variableOf(one, `${path}.env[${index}]`)),
    usesServiceAccountTokens: tokenAttributes !== undefined && tokenAttributes !== null,
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

function durationAt(value: unknown, path: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  const text = textAt(value, path);
  parseDuration(text); // Go's message names the text
  return text;
}
