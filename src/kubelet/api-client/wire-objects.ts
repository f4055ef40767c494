import { ApiError, type ApiObjects, type Resource } from './api-server.ts';
import { isMap, type PatchMap } from './patch-value.ts';

/**
 * An object as it came over the wire. Without the book of who wrote which of its fields: often most of the object, and
 * of no use to a node.
 */
export function objectOf<R extends Resource>(_resource: R, value: unknown): ApiObjects[R] {
  const object = mapOf(value);
  const { managedFields: _, ...metadata } = mapOf(object['metadata']);
  // The server keeps to its own schema.
  return { ...object, metadata } as unknown as ApiObjects[R];
}

export function versionOf(value: unknown): string {
  const { resourceVersion } = mapOf(mapOf(value)['metadata']);
  return textIn('metadata.resourceVersion', resourceVersion);
}

/** Throws where a server answers with something else than what the API has at this place. */
export function mapOf(value: unknown): PatchMap {
  if (!isMap(value)) throw new ApiError('InternalError', 'the server answered with something else than an object');
  return value;
}

export function textIn(field: string, value: unknown): string {
  if (typeof value !== 'string') throw new ApiError('InternalError', `the server answered without ${field}`);
  return value;
}
