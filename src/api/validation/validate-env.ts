import { configKeyErrors, dnsLabelErrors, dnsSubdomainErrors, envNameErrors } from '../../base/name-syntax.ts';
import type { EnvFromSource, EnvVar, EnvVarSource, FileKeySelector } from '../generated/core-v1.ts';
import { type FieldErrors, invalid, invalidFor, required, requiredAnd } from './field-error.ts';
import { validateFieldRef, validateResourceFieldRef } from './validate-field-ref.ts';
import { noBacksteps } from './validate-paths.ts';

const FIELD_PATHS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];

export function* validateEnv(path: string, variables: readonly EnvVar[] = []): FieldErrors {
  for (const [index, variable] of variables.entries()) {
    const at = `${path}[${index}]`;
    yield* requiredAnd(`${at}.name`, variable.name, envNameErrors);
    if (variable.valueFrom) yield* validateValueFrom(`${at}.valueFrom`, variable, variable.valueFrom);
  }
}

export function* validateEnvFrom(path: string, sources: readonly EnvFromSource[] = []): FieldErrors {
  for (const [index, { prefix, configMapRef, secretRef }] of sources.entries()) {
    const at = `${path}[${index}]`;
    if (prefix) yield* invalidFor(`${at}.prefix`, prefix, envNameErrors(prefix));
    if (configMapRef) yield* requiredAnd(`${at}.configMapRef.name`, configMapRef.name, dnsSubdomainErrors);
    if (secretRef) yield* requiredAnd(`${at}.secretRef.name`, secretRef.name, dnsSubdomainErrors);
    if (!configMapRef && !secretRef) yield invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`');
    if (configMapRef && secretRef) yield invalid(path, '', 'may not have more than one field specified at a time');
  }
}

function* validateValueFrom(path: string, { value }: EnvVar, source: EnvVarSource): FieldErrors {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  const count = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef].filter(Boolean).length;
  if (fieldRef) yield* validateFieldRef(`${path}.fieldRef`, fieldRef, FIELD_PATHS);
  if (resourceFieldRef) yield* validateResourceFieldRef(`${path}.resourceFieldRef`, resourceFieldRef);
  if (configMapKeyRef) yield* validateKeyRef(`${path}.configMapKeyRef`, configMapKeyRef);
  if (secretKeyRef) yield* validateKeyRef(`${path}.secretKeyRef`, secretKeyRef);
  if (fileKeyRef) yield* validateFileKeyRef(`${path}.fileKeyRef`, fileKeyRef);
  if (count === 0) {
    const sources = '`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`';
    yield invalid(path, '', `must specify one of: ${sources}`);
  } else if (value) {
    yield invalid(path, '', 'may not be specified when `value` is not empty');
  } else if (count > 1) {
    yield invalid(path, '', 'may not have more than one field specified at a time');
  }
}

function* validateKeyRef(path: string, ref: { readonly name?: string | undefined; readonly key: string }): FieldErrors {
  yield* invalidFor(`${path}.name`, ref.name ?? '', dnsSubdomainErrors(ref.name ?? ''));
  yield* requiredAnd(`${path}.key`, ref.key, configKeyErrors);
}

function* validateFileKeyRef(path: string, ref: FileKeySelector): FieldErrors {
  yield* requiredAnd(`${path}.key`, ref.key, envNameErrors);
  yield* requiredAnd(`${path}.volumeName`, ref.volumeName, dnsLabelErrors);
  if (ref.path === '') yield required(`${path}.path`);
  else yield* noBacksteps(`${path}.path`, ref.path);
}
