import { configKeyErrors, dnsLabelErrors } from '../../base/name-syntax.ts';
import type { ConfigMap, RuntimeClass, Secret } from '../generated/core-v1.ts';
import { type FieldErrors, invalid, invalidFor, required, requiredAnd, tooLong } from './field-error.ts';
import { validateLabels, validateObjectMeta } from './validate-metadata.ts';
import { validateContainerResources } from './validate-resources.ts';

/** Of all values of a ConfigMap or Secret together. */
const MAX_BYTES = 1024 * 1024;

const ACCOUNT_NAME = 'kubernetes.io/service-account.name';

/** Everything that the API server would refuse a new ConfigMap for. */
export function* validateConfigMap({ metadata, data = {}, binaryData = {} }: ConfigMap): FieldErrors {
  yield* validateObjectMeta(metadata, 'namespaced');
  for (const key of Object.keys(data)) {
    yield* invalidFor(`data[${key}]`, key, configKeyErrors(key));
    if (Object.hasOwn(binaryData, key)) yield invalid(`data[${key}]`, key, 'duplicate of key present in binaryData');
  }
  for (const key of Object.keys(binaryData)) yield* invalidFor(`binaryData[${key}]`, key, configKeyErrors(key));
  const texts = Object.values(data).map((value) => Buffer.byteLength(value));
  if (sum(texts) + sum(Object.values(binaryData).map(decodedBytes)) > MAX_BYTES) yield tooLong('[]', MAX_BYTES);
}

/** The same for a Secret; its `stringData` is in `data` already. */
export function* validateSecret({ metadata, data = {}, type = '' }: Secret): FieldErrors {
  yield* validateObjectMeta(metadata, 'namespaced');
  for (const key of Object.keys(data)) yield* invalidFor(`data[${key}]`, key, configKeyErrors(key));
  if (sum(Object.values(data).map(decodedBytes)) > MAX_BYTES) yield tooLong('data', MAX_BYTES);
  const has = (key: string): boolean => Object.hasOwn(data, key);
  switch (type) {
    case 'kubernetes.io/service-account-token':
      if (!metadata.annotations?.[ACCOUNT_NAME]) yield required(`metadata.annotations[${ACCOUNT_NAME}]`);
      return;
    case 'kubernetes.io/dockercfg':
      return yield* validateJson('.dockercfg', data);
    case 'kubernetes.io/dockerconfigjson':
      return yield* validateJson('.dockerconfigjson', data);
    case 'kubernetes.io/basic-auth':
      if (!has('username') && !has('password')) yield* ['username', 'password'].map((key) => required(`data[${key}]`));
      return;
    case 'kubernetes.io/ssh-auth':
      if (!data['ssh-privatekey']) yield required('data[ssh-privatekey]');
      return;
    case 'kubernetes.io/tls':
      for (const key of ['tls.crt', 'tls.key']) if (!has(key)) yield required(`data[${key}]`);
      return;
    default:
      return;
  }
}

/** The same for a RuntimeClass, except for tolerations, which concern the scheduler alone. */
export function* validateRuntimeClass({ metadata, handler, overhead, scheduling }: RuntimeClass): FieldErrors {
  yield* validateObjectMeta(metadata, 'cluster');
  yield* requiredAnd('handler', handler, dnsLabelErrors);
  if (overhead) yield* validateContainerResources('overhead', { limits: overhead.podFixed }, []);
  yield* validateLabels('scheduling.nodeSelector', scheduling?.nodeSelector);
}

/** The message does not quote the parser's error, which would expose parts of the value. */
function* validateJson(key: string, data: Readonly<Record<string, string>>): FieldErrors {
  const path = `data[${key}]`;
  const encoded = data[key];
  if (encoded === undefined) return yield required(path);
  const error = jsonObjectError(Buffer.from(encoded, 'base64').toString());
  if (error !== undefined) yield invalid(path, '<secret contents redacted>', error);
}

function jsonObjectError(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && !Array.isArray(value) ? undefined : 'is not an object';
  } catch {
    return 'is not JSON';
  }
}

function decodedBytes(base64: string): number {
  return Buffer.byteLength(base64, 'base64');
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
