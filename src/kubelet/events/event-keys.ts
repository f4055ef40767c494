import type { Event } from '../../api/generated/core-v1.ts';

/** Size of each cache of events: client-go's `maxLruCacheEntries`. */
export const MAX_KEYS = 4096;

/** Equal for repetitions of an event. */
export function eventKey(event: Event): string {
  return key(...objectParts(event), event.involvedObject.fieldPath, event.reason, event.message);
}

/** Equal for events that differ only in their message or container. */
export function aggregateKey(event: Event): string {
  return key(...objectParts(event), event.reason);
}

/** Equal for all events of one object and one type. */
export function spamKey(event: Event): string {
  return key(...objectParts(event));
}

function objectParts({ source, involvedObject, type }: Event): (string | undefined)[] {
  const { kind, namespace, name, uid, apiVersion } = involvedObject;
  return [source?.component, source?.host, kind, namespace, name, uid, apiVersion, type];
}

function key(...parts: readonly (string | undefined)[]): string {
  return parts.map((part = '') => part).join('\0');
}
