import type { ObjectMeta, Pod } from '../../../api/generated/core-v1.ts';
import { formatTime, parseTime } from '../../../base/rfc3339.ts';
import type { Resource } from '../api-server.ts';
import { fromWire, type WireObject } from './wire-object.ts';

/** The effect of a delete request. */
export type Deletion =
  /** A deletion with the same or a shorter grace period is already pending. */
  | { readonly kind: 'pending' }
  /** The deletion is marked first, so that watches see it even if the object is removed at once. */
  | { readonly kind: 'mark'; readonly metadata: ObjectMeta; readonly thenRemove: boolean }
  | { readonly kind: 'remove' };

/** Only pods have a grace period. Finalizers keep an object whose grace period is over. */
export function decideDeletion(
  resource: Resource,
  object: WireObject,
  graceSeconds: number | undefined,
  nowMs: number,
): Deletion {
  const { metadata } = object;
  const isKept = (metadata.finalizers ?? []).length > 0;
  const asked = graceSeconds !== undefined && graceSeconds < 0 ? 1 : graceSeconds;
  if (resource === 'pods' && (metadata.deletionTimestamp === undefined || hasGraceLeft(metadata))) {
    return decideWithGrace(fromWire('pods', object), asked, nowMs, isKept);
  }
  if (!isKept) return { kind: 'remove' };
  const { deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined && parseTime(deletionTimestamp) <= nowMs) return { kind: 'pending' };
  const marked = { ...firstMark(metadata), deletionTimestamp: formatTime(nowMs), deletionGracePeriodSeconds: 0 };
  return { kind: 'mark', metadata: marked, thenRemove: false };
}

function decideWithGrace(pod: Pod, asked: number | undefined, nowMs: number, isKept: boolean): Deletion {
  const { metadata } = pod;
  const { deletionTimestamp, deletionGracePeriodSeconds: current = 0 } = metadata;
  if (deletionTimestamp === undefined) {
    const seconds = firstGrace(pod, asked);
    const end = formatTime(nowMs + seconds * 1000);
    return {
      kind: 'mark',
      metadata: { ...firstMark(metadata), deletionTimestamp: end, deletionGracePeriodSeconds: seconds },
      thenRemove: seconds === 0 && !isKept,
    };
  }
  if (asked === undefined || asked >= current) return { kind: 'pending' };
  const end = parseTime(deletionTimestamp) + (asked - current) * 1000;
  // The requested time has passed already. One second marks the deletion as graceful, so that the node confirms it.
  const seconds = end < nowMs && asked !== 0 ? 1 : asked;
  return {
    kind: 'mark',
    metadata: { deletionTimestamp: formatTime(Math.max(end, nowMs)), deletionGracePeriodSeconds: seconds },
    thenRemove: asked === 0 && !isKept,
  };
}

/** A pod without a node or in a terminal phase needs no grace period. */
function firstGrace({ spec, status }: Pod, asked: number | undefined): number {
  if (!spec.nodeName || status?.phase === 'Failed' || status?.phase === 'Succeeded') return 0;
  const seconds = asked ?? spec.terminationGracePeriodSeconds ?? 0;
  return seconds < 0 ? 1 : seconds;
}

/** A deletion counts as a change of the spec. */
function firstMark({ deletionTimestamp, generation = 0 }: ObjectMeta): ObjectMeta {
  return deletionTimestamp === undefined && generation > 0 ? { generation: generation + 1 } : {};
}

function hasGraceLeft({ deletionGracePeriodSeconds = 0 }: ObjectMeta): boolean {
  return deletionGracePeriodSeconds !== 0;
}
