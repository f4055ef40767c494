import { join } from 'node:path/posix';
import { type Document, LineCounter, parseDocument } from 'yaml';
import { plainYaml, YamlAliasError } from '../../api/decode/plain-yaml.ts';
import { formatFieldError } from '../../api/validation/field-error.ts';
import { parseDurationMs } from '../../base/duration.ts';
import { errorText } from '../../base/error-text.ts';
import { ExpectedError } from '../../base/expected-error.ts';
import { goErrorList } from '../../base/go/go-error-list.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { ProviderSpec } from '../../kubelet/images/credential-provider.ts';
import type { TokenAttributes } from '../../kubelet/images/pod-account.ts';
import {
  type CredentialProviderEntry,
  type DecodedProviders,
  decodeProviders,
  type TokenAttributesEntry,
} from './decode-credential-providers.ts';
import { validateProviders } from './validate-credential-providers.ts';
import type { TokenSupport } from './validate-token-attributes.ts';

/** What `--image-credential-provider-config` and `--image-credential-provider-bin-dir` say. */
export interface ProviderPaths {
  /** A file, or a folder of files. */
  readonly config: string;
  readonly binDir: string;
}

/** The credential providers cannot be used as they are configured; the message is kubelet's own. */
export class ProviderConfigError extends ExpectedError {
  override readonly name = 'ProviderConfigError';
}

/** The providers, each with its program and environment. Rejects with a `ProviderConfigError`. */
export async function readCredentialProviders(
  { config, binDir }: ProviderPaths,
  fs: FileSystem,
  environment: Readonly<Record<string, string | undefined>>,
  tokens: TokenSupport,
): Promise<readonly ProviderSpec[]> {
  if (!(await fs.stat(binDir))) throw new ProviderConfigError(`plugin binary directory ${binDir} did not exist`);
  const entries = await readEntries(config, fs);
  const messages = validateProviders(entries, tokens).map(formatFieldError);
  if (messages.length > 0) {
    throw new ProviderConfigError(`failed to validate credential provider config: ${goErrorList(messages)}`);
  }
  for (const { name } of entries) await checkProgram(join(binDir, name), fs);
  return entries.map((entry) => specOf(entry, binDir, environment));
}

async function readEntries(path: string, fs: FileSystem): Promise<readonly CredentialProviderEntry[]> {
  const entries: CredentialProviderEntry[] = [];
  for (const file of await configFiles(path, fs)) {
    const text = await fs.readText(file).catch((error: unknown) => {
      throw new ProviderConfigError(`unable to read file "${file}": ${errorText(error)}`, { cause: error });
    });
    entries.push(...decodeFile(file, text));
  }
  const twice = entries.find(({ name }, index) => entries.findIndex((each) => each.name === name) < index);
  if (twice) {
    throw new ProviderConfigError(`duplicate provider name "${twice.name}" found in configuration file(s)`);
  }
  return entries;
}

async function configFiles(path: string, fs: FileSystem): Promise<readonly string[]> {
  if (path === '') throw new ProviderConfigError('credential provider config path is empty');
  const found = await fs.stat(path);
  if (!found) throw new ProviderConfigError(`unable to access path "${path}": stat ${path}: no such file or directory`);
  if (found.kind !== 'directory') return [path];
  const entries = await fs.readDirectory(path);
  const files = entries.filter(({ name, kind }) => kind !== 'directory' && /\.(json|yaml|yml)$/.test(name));
  if (files.length === 0) throw new ProviderConfigError(`no configuration files found in directory "${path}"`);
  return files.map(({ name }) => join(path, name));
}

function decodeFile(file: string, text: string): readonly CredentialProviderEntry[] {
  const lineCounter = new LineCounter();
  // A pretty error quotes the text, and a warning quotes keys, which may hold secrets of a program.
  const quiet = { prettyErrors: false, logLevel: 'error' } as const;
  const document = parseDocument(text, { version: '1.1', uniqueKeys: true, lineCounter, ...quiet });
  const [message] = document.errors;
  const decoded = message
    ? { message: `yaml: line ${lineCounter.linePos(message.pos[0]).line}: ${message.message}` }
    : decodeYaml(document);
  if ('message' in decoded) throw new ProviderConfigError(`error decoding config "${file}": ${decoded.message}`);
  return decoded.providers;
}

function decodeYaml(document: Document): DecodedProviders {
  try {
    return decodeProviders(plainYaml(document));
  } catch (error) {
    if (error instanceof YamlAliasError) return { message: `yaml: ${error.message}` };
    throw error;
  }
}

async function checkProgram(path: string, fs: FileSystem): Promise<void> {
  const found = await fs.stat(path);
  if (!found) throw new ProviderConfigError(`plugin binary executable ${path} did not exist`);
  if (found.kind === 'directory' || (found.mode & 0o111) === 0) {
    throw new ProviderConfigError(`error inspecting binary executable ${path}: permission denied`);
  }
}

function specOf(
  entry: CredentialProviderEntry,
  binDir: string,
  environment: Readonly<Record<string, string | undefined>>,
): ProviderSpec {
  const { name, args, matchImages, apiVersion, defaultCacheDuration = '0s', tokenAttributes } = entry;
  const inherited = Object.entries(environment).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const own = entry.env.map(({ name: key, value }) => [key, value] as const);
  return {
    name,
    program: join(binDir, name),
    args,
    env: Object.fromEntries([...inherited, ...own]),
    matchImages,
    defaultCacheMs: parseDurationMs(defaultCacheDuration),
    apiVersion,
    ...(tokenAttributes && { tokenAttributes: attributesOf(tokenAttributes) }),
  };
}

/** Of what was found to be right. */
function attributesOf(entry: TokenAttributesEntry): TokenAttributes {
  return {
    audience: entry.serviceAccountTokenAudience,
    cacheType: entry.cacheType === 'Token' ? 'Token' : 'ServiceAccount',
    requireServiceAccount: entry.requireServiceAccount ?? true,
    requiredAnnotations: entry.requiredServiceAccountAnnotationKeys,
    optionalAnnotations: entry.optionalServiceAccountAnnotationKeys,
  };
}
