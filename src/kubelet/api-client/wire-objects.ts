import { ApiError, type ApiObjects, type Resource } from './api-server.ts';
import { isMap, type PatchMap } from './patch-value.ts';

/**
 * An object as it came over the wire. Without the book of who wrote which of its fields: often most of the object, and
 * of no use to a node.
 */
export function decodeObject<R extends Resource>(_resource: R, value: unknown): ApiObjects[R] {
  const object = asObject(value);
  const { managedFields: _, ...metadata } = asObject(object['metadata']);
  // The server keeps to its own schema.
  return { ...object, metadata } as unknown as ApiObjects[R];
}

export function resourceVersionOf(value: unknown): string {
  const { resourceVersion } = asObject(asObject(value)['metadata']);
  return requireString('metadata.resourceVersion', resourceVersion);
}

/** Throws where a server answers with something else than what the API has at this place. */
export function asObject(value: unknown): PatchMap {
  if (!isMap(value)) throw new ApiError('InternalError', 'the server answered with something else than an object');
  return value;
}

export function requireString(field: string, value: unknown): string {
  if (typeof value !== 'string') throw new ApiError('InternalError', `the server answered without ${field}`);
  return value;
}
