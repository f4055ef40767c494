import type { ObjectMeta, Pod } from '../../../api/generated/core-v1.ts';
import { formatTime, parseTime } from '../../../base/rfc3339.ts';
import type { Resource } from '../api-server.ts';
import { fromWire, type WireObject } from './wire-object.ts';

/** What a request to delete does to an object. */
export type Deletion =
  /** It goes already, and no later than it was asked now. */
  | { readonly kind: 'pending' }
  /** It is told to go; whoever has to do with it sees that first, even when it is removed at once. */
  | { readonly kind: 'mark'; readonly metadata: ObjectMeta; readonly thenRemove: boolean }
  | { readonly kind: 'remove' };

/** Only pods are given time, and only finalizers keep what has none left. */
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
  // Too late for what is asked now; one second says that there was grace, and that the last word is the node's.
  const seconds = end < nowMs && asked !== 0 ? 1 : asked;
  return {
    kind: 'mark',
    metadata: { deletionTimestamp: formatTime(Math.max(end, nowMs)), deletionGracePeriodSeconds: seconds },
    thenRemove: asked === 0 && !isKept,
  };
}

/** Nobody has to stop a pod that no node has, or that has ended. */
function firstGrace({ spec, status }: Pod, asked: number | undefined): number {
  if (!spec.nodeName || status?.phase === 'Failed' || status?.phase === 'Succeeded') return 0;
  const seconds = asked ?? spec.terminationGracePeriodSeconds ?? 0;
  return seconds < 0 ? 1 : seconds;
}

/** To be deleted is a change of what is wanted. */
function firstMark({ deletionTimestamp, generation = 0 }: ObjectMeta): ObjectMeta {
  return deletionTimestamp === undefined && generation > 0 ? { generation: generation + 1 } : {};
}

function hasGraceLeft({ deletionGracePeriodSeconds = 0 }: ObjectMeta): boolean {
  return deletionGracePeriodSeconds !== 0;
}
