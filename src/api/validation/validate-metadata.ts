import { dnsLabelErrors, dnsSubdomainErrors, labelValueErrors, qualifiedNameErrors } from '../../base/name-syntax.ts';
import type { NamedMeta, ObjectMeta, OwnerReference, Pod } from '../generated/core-v1.ts';
import {
  type FieldErrors,
  forbidden,
  invalid,
  invalidFor,
  notNegative,
  required,
  requiredAnd,
  tooLong,
} from './field-error.ts';

const ANNOTATIONS_MAX_BYTES = 256 * 1024;

export function* validateMetadata({ metadata, spec }: Pod): FieldErrors {
  yield* validateObjectMeta(metadata, 'namespaced');
  const mirror = metadata.annotations?.['kubernetes.io/config.mirror'];
  if (mirror !== undefined && !spec.nodeName) {
    const path = 'metadata.annotations[kubernetes.io/config.mirror]';
    yield invalid(path, mirror, 'must set spec.nodeName if mirror pod annotation is set');
  }
}

/** Of any object whose name is a DNS subdomain. */
export function* validateObjectMeta(metadata: NamedMeta, scope: 'namespaced' | 'cluster'): FieldErrors {
  const { name, generateName, namespace } = metadata;
  if (generateName) {
    // What is appended may follow a dash.
    const masked = generateName.replace(/.-$/, 'a');
    yield* invalidFor('metadata.generateName', generateName, dnsSubdomainErrors(masked));
  }
  if (name === '') yield required('metadata.name', 'name or generateName is required');
  else yield* invalidFor('metadata.name', name, dnsSubdomainErrors(name));
  if (scope === 'namespaced') yield* requiredAnd('metadata.namespace', namespace, dnsLabelErrors);
  else if (namespace) yield forbidden('metadata.namespace', 'not allowed on this type');
  yield* notNegative('metadata.generation', metadata.generation);
  yield* validateLabels('metadata.labels', metadata.labels);
  yield* validateAnnotations('metadata.annotations', metadata.annotations);
  yield* validateOwners(metadata);
  for (const finalizer of metadata.finalizers ?? []) {
    yield* invalidFor('metadata.finalizers', finalizer, qualifiedNameErrors(finalizer));
  }
}

/** Labels, and what selects by them. */
export function* validateLabels(path: string, labels: Readonly<Record<string, string>> = {}): FieldErrors {
  for (const [key, value] of Object.entries(labels)) {
    yield* invalidFor(path, key, qualifiedNameErrors(key));
    yield* invalidFor(path, value, labelValueErrors(value));
  }
}

export function* validateAnnotations(path: string, annotations: Readonly<Record<string, string>> = {}): FieldErrors {
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
    yield* invalidFor(path, key, qualifiedNameErrors(key.toLowerCase()));
  }
  if (bytes > ANNOTATIONS_MAX_BYTES) yield tooLong(path, ANNOTATIONS_MAX_BYTES);
}

function* validateOwners({ ownerReferences = [] }: ObjectMeta): FieldErrors {
  const path = 'metadata.ownerReferences';
  let first: OwnerReference | undefined;
  for (const owner of ownerReferences) {
    if (/(^|\/)$/.test(owner.apiVersion)) {
      yield invalid(`${path}.apiVersion`, owner.apiVersion, 'version must not be empty');
    }
    for (const field of ['kind', 'name', 'uid'] as const) {
      if (owner[field] === '') yield invalid(`${path}.${field}`, '', 'must not be empty');
    }
    if (!owner.controller) continue;
    if (first) {
      const names = [first, owner].map(({ kind, name }) => `${kind}/${name}`).join(' and ');
      const detail = `Only one reference can have Controller set to true. Found "true" in references for ${names}`;
      yield invalid(path, ownerReferences, detail);
    }
    first ??= owner;
  }
}
