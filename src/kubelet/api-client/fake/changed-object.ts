import { isDeepStrictEqual } from 'node:util';
import { defaultPod } from '../../../api/defaults/default-pod.ts';
import type { ObjectMeta, Pod, PodCondition, PodStatus } from '../../../api/generated/core-v1.ts';
import type { ObjectKey } from '../api-server.ts';
import { badRequest, invalid, modified } from './api-errors.ts';
import { requestNamespace, withSecretData } from './new-object.ts';
import { resourceFacts } from './resource-facts.ts';
import { fromWire, toWire, type WireObject, withMetadata } from './wire-object.ts';

/**
 * The object that the server stores when an update or a patch asks for `wanted`: fields that this kind of write may not
 * change are kept. Throws the server's error.
 */
export function changedObject(
  key: ObjectKey,
  old: WireObject,
  wanted: WireObject,
  subresource: 'status' | undefined,
): WireObject {
  const { hasStatus, apiVersion, kind, isNamespaced } = resourceFacts(key.resource);
  if (wanted.metadata.name !== key.name) {
    throw badRequest(
      `the name of the object (${wanted.metadata.name ?? ''}) does not match the name on the URL (${key.name})`,
    );
  }
  checkVersion(key, old, wanted);
  const { metadata } = old;
  const kept = {
    apiVersion,
    kind,
    ...(hasStatus && subresource === undefined && { status: old['status'] }),
    ...(subresource === 'status' && { spec: old['spec'] }),
  };
  const changed = toWire({
    ...wanted,
    ...kept,
    metadata: {
      ...wanted.metadata,
      namespace: isNamespaced ? requestNamespace(key, wanted.metadata.namespace) : undefined,
      generation: metadata.generation,
      uid: wanted.metadata.uid || metadata.uid,
      creationTimestamp: metadata.creationTimestamp,
      deletionTimestamp: metadata.deletionTimestamp ?? wanted.metadata.deletionTimestamp,
      deletionGracePeriodSeconds: wanted.metadata.deletionGracePeriodSeconds ?? metadata.deletionGracePeriodSeconds,
    },
  });
  const result = normalizeByKind(key, old, changed, subresource);
  checkImmutable(key, metadata, result.metadata);
  return result;
}

/** True for an object that only its finalizers kept, after their removal. */
export function isReleased(old: WireObject, changed: WireObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = old.metadata;
  return (
    deletionTimestamp !== undefined &&
    deletionGracePeriodSeconds === 0 &&
    (changed.metadata.finalizers ?? []).length === 0
  );
}

function checkVersion(key: ObjectKey, old: WireObject, { metadata }: WireObject): void {
  const { qualifiedName, updatesUnconditionally } = resourceFacts(key.resource);
  if (metadata.resourceVersion) {
    if (metadata.resourceVersion !== old.metadata.resourceVersion) throw modified(key);
  } else if (!updatesUnconditionally) {
    throw invalid(qualifiedName, key.name, [
      'metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    ]);
  }
}

function checkImmutable(key: ObjectKey, old: ObjectMeta, changed: ObjectMeta): void {
  const fields = ['uid', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const;
  const errors = fields
    .filter((field) => changed[field] !== old[field])
    .map((field) => `metadata.${field}: Invalid value: ${JSON.stringify(changed[field])}: field is immutable`);
  if (errors.length > 0) throw invalid(resourceFacts(key.resource).qualifiedKind, key.name, errors);
}

function normalizeByKind(
  { resource }: ObjectKey,
  old: WireObject,
  changed: WireObject,
  subresource: 'status' | undefined,
): WireObject {
  if (resource === 'secrets') {
    return toWire({ type: old['type'], ...withSecretData(fromWire('secrets', changed)) });
  }
  if (resource !== 'pods') return changed;
  if (subresource === 'status') return podWithStatus(fromWire('pods', old), fromWire('pods', changed));
  const pod = toWire(defaultPod(fromWire('pods', changed)));
  const { generation = 0 } = old.metadata;
  return isDeepStrictEqual(old['spec'], pod['spec']) ? pod : withMetadata(pod, { generation: generation + 1 });
}

/** A status write cannot change owners or the QoS class, nor reset observed generations. */
function podWithStatus(old: Pod, { status = {}, ...changed }: Pod): WireObject {
  const { metadata } = old;
  const before = old.status ?? {};
  const keptStatus: PodStatus = {
    ...status,
    qosClass: status.qosClass || before.qosClass,
    observedGeneration: status.observedGeneration || before.observedGeneration,
    conditions: status.conditions?.map((condition) => withSeenGeneration(condition, before.conditions ?? [])),
  };
  return toWire({
    ...changed,
    metadata: {
      ...changed.metadata,
      ownerReferences: metadata.ownerReferences,
      deletionTimestamp: metadata.deletionTimestamp,
    },
    status: keptStatus,
  });
}

function withSeenGeneration(condition: PodCondition, before: readonly PodCondition[]): PodCondition {
  const seen = before.find(({ type }) => type === condition.type)?.observedGeneration;
  return { ...condition, observedGeneration: condition.observedGeneration || seen };
}
