import type { ObjectReference, PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/generated/core-v1.ts';

/** A pod, or one of its containers. A static pod has its own UID, as in kubelet: its mirror pod has it as an annotation. */
export function podReference({ metadata }: Pod, fieldPath: string | undefined): ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { kind: 'Pod', namespace, name, uid, apiVersion: 'v1', resourceVersion, fieldPath };
}

export function claimReference({ metadata }: PersistentVolumeClaim): ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { kind: 'PersistentVolumeClaim', namespace, name, uid, apiVersion: 'v1', resourceVersion };
}

export function volumeReference({ metadata: { name, uid, resourceVersion } }: PersistentVolume): ObjectReference {
  return { kind: 'PersistentVolume', name, uid, apiVersion: 'v1', resourceVersion };
}

/** The node, registered or not. */
export function nodeReference(name: string): ObjectReference {
  return { kind: 'Node', name, apiVersion: 'v1' };
}
