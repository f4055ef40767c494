import type { Event } from '../../api/generated/core-v1.ts';

/** How many groups, counts and budgets are remembered of each: client-go's number. */
export const REMEMBERED = 4096;

/** The same for the same thing told again. */
export function sameEventKey(event: Event): string {
  return key(...aboutObject(event), event.involvedObject.fieldPath, event.reason, event.message);
}

/** The same for events that differ in nothing but their message, or the container that they are about. */
export function similarEventsKey(event: Event): string {
  return key(...aboutObject(event), event.reason);
}

/** The same for all that is told about an object in one tone. */
export function budgetKey(event: Event): string {
  return key(...aboutObject(event));
}

function aboutObject({ source, involvedObject, type }: Event): (string | undefined)[] {
  const { kind, namespace, name, uid, apiVersion } = involvedObject;
  return [source?.component, source?.host, kind, namespace, name, uid, apiVersion, type];
}

function key(...parts: readonly (string | undefined)[]): string {
  return parts.map((part = '') => part).join('\0');
}
