import type {
  ConfigMapKeySelector,
  EnvFromSource,
  EnvVarSource,
  FileKeySelector,
  SecretKeySelector,
} from '../../../api/generated/core-v1.ts';
import { expandEnv } from '../../../base/env-expand.ts';
import { goQuote } from '../../../base/go/go-quote.ts';
import { CausedError } from '../../pod/pod-cause.ts';
import { envFileValue } from './env-file.ts';
import { type EnvironmentSources, envFileId, type ObjectLookup } from './env-sources.ts';
import { type PodFieldContext, podFieldText } from './pod-field.ts';
import { type ResourceFieldContext, resourceFieldText } from './resource-field.ts';

export interface EnvironmentInput extends PodFieldContext, ResourceFieldContext {
  readonly sources: EnvironmentSources;
  /** `false`: `fileKeyRef` is ignored. */
  readonly envFiles?: boolean | undefined;
}

/** The variables of a container, as bytes: Secrets may hold any bytes. */
export type Environment = ReadonlyMap<string, Uint8Array>;

/** Expands `$(NAME)` references in a text. */
export function expandReferences(environment: Environment, text: string): string {
  return expandEnv(text, (name) => {
    const value = environment.get(name);
    return value && new TextDecoder().decode(value);
  });
}

/**
 * Resolves the variables of a container: `envFrom` first, then `env` in order of declaration (a repeated name keeps its
 * position and gets the later value), then service variables. A value may reference services and earlier variables.
 * Throws kubelet's message for a reference that cannot be resolved.
 */
export function containerEnvironment(input: EnvironmentInput): Environment {
  const { container, sources } = input;
  const services = new Map(Array.from(sources.services, ([name, value]) => [name, ofText(value)]));
  const own = new Map<string, ByteText>();
  for (const from of container.envFrom ?? []) {
    for (const [key, value] of objectEntries(from, input)) own.set(`${from.prefix ?? ''}${key}`, value);
  }
  const lookup = (name: string): ByteText | undefined => own.get(name) ?? services.get(name);
  for (const { name, value, valueFrom } of container.env ?? []) {
    const resolved = value ? expandEnv(ofText(value), lookup) : valueFrom ? sourceValue(valueFrom, input) : '';
    if (resolved !== undefined) own.set(name, resolved);
  }
  const remaining = [...services].filter(([name]) => !own.has(name));
  return new Map([...own, ...remaining].map(([name, value]) => [name, Buffer.from(value, 'latin1')]));
}

/** One character per byte, so that references can be replaced in arbitrary bytes. */
type ByteText = string;

function ofText(text: string): ByteText {
  return Buffer.from(text).toString('latin1');
}

function ofBase64(data: string): ByteText {
  return Buffer.from(data, 'base64').toString('latin1');
}

function objectEntries(
  { configMapRef, secretRef }: EnvFromSource,
  { sources }: EnvironmentInput,
): [string, ByteText][] {
  if (configMapRef) {
    const found = resolve(sources.configMaps, configMapRef);
    return Object.entries(found?.data ?? {}).map(([key, value]) => [key, ofText(value)]);
  }
  const found = secretRef && resolve(sources.secrets, secretRef);
  return Object.entries(found?.data ?? {}).map(([key, value]) => [key, ofBase64(value)]);
}

/** `undefined` when an optional reference is missing: the variable is then not set. */
function sourceValue(source: EnvVarSource, input: EnvironmentInput): ByteText | undefined {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  if (fieldRef) return ofText(podFieldText(fieldRef.fieldPath, input));
  if (resourceFieldRef) return ofText(resourceFieldText(resourceFieldRef, input));
  if (configMapKeyRef) return configMapValue(configMapKeyRef, input);
  if (secretKeyRef) return secretValue(secretKeyRef, input);
  return fileKeyRef && input.envFiles !== false ? fileValue(fileKeyRef, input) : '';
}

function configMapValue(ref: ConfigMapKeySelector, { sources, pod }: EnvironmentInput): ByteText | undefined {
  const found = resolve(sources.configMaps, ref);
  const value = found && valueOfKey(found.data, ref, 'configmap', pod.metadata.namespace);
  return value === undefined ? undefined : ofText(value);
}

function secretValue(ref: SecretKeySelector, { sources, pod }: EnvironmentInput): ByteText | undefined {
  const found = resolve(sources.secrets, ref);
  const value = found && valueOfKey(found.data, ref, 'secret', pod.metadata.namespace);
  return value === undefined ? undefined : ofBase64(value);
}

function fileValue(ref: FileKeySelector, { sources }: EnvironmentInput): ByteText | undefined {
  const file = sources.files.get(envFileId(ref));
  if (file === undefined || file.kind === 'noVolume') {
    throw new Error(`cannot find the volume ${goQuote(ref.volumeName)} referenced by FileKeyRef`);
  }
  if (file.kind === 'unreadable') throw new CausedError(BAD_FILE, { kind: 'envFileInvalid' });
  const value = readEnvFileKey(file.bytes, ref.key);
  if (value !== '') return value;
  if (ref.optional) return undefined;
  throw new Error(`environment variable key ${goQuote(ref.key)} not found in file ${goQuote(file.path)}`);
}

/** The parse error itself is not shown: the file may contain secrets. */
const BAD_FILE = "couldn't parse env file";

function readEnvFileKey(bytes: Uint8Array, key: string): ByteText {
  try {
    return envFileValue(Buffer.from(bytes).toString('latin1'), key);
  } catch (error) {
    throw new CausedError(BAD_FILE, { kind: 'envFileInvalid' }, { cause: error });
  }
}

function resolve<T>(
  answers: ReadonlyMap<string, ObjectLookup<T>>,
  { name = '', optional = false }: { readonly name?: string | undefined; readonly optional?: boolean | undefined },
): T | undefined {
  const answer = answers.get(name);
  if (answer?.kind === 'found') return answer.value;
  if (answer?.isMissing && optional) return undefined;
  throw new Error(answer?.message ?? `cannot resolve ${name}`, { cause: answer?.cause });
}

function valueOfKey(
  data: Readonly<Record<string, string>> | undefined,
  { name: objectName, key, optional }: ConfigMapKeySelector | SecretKeySelector,
  object: 'configmap' | 'secret',
  namespace: string | undefined,
): string | undefined {
  if (data && Object.hasOwn(data, key)) return data[key];
  if (optional) return undefined;
  const name = `${namespace}/${objectName}`;
  const message = `couldn't find key ${key} in ${object === 'secret' ? 'Secret' : 'ConfigMap'} ${name}`;
  throw new CausedError(message, { kind: 'keyNotFound', object, name, key });
}
