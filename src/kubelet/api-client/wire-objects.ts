import { ApiError, type ApiObjects, type Resource } from './api-server.ts';
import { isMap, type PatchMap } from './patch-value.ts';

/** An object of a response, without its managed fields, which are often most of the object and not used by a node. */
export function decodeObject<R extends Resource>(_resource: R, value: unknown): ApiObjects[R] {
  const object = asObject(value);
  const { managedFields: _, ...metadata } = asObject(object['metadata']);
  // The server conforms to its schema.
  return { ...object, metadata } as unknown as ApiObjects[R];
}

export function resourceVersionOf(value: unknown): string {
  const { resourceVersion } = asObject(asObject(value)['metadata']);
  return requireString('metadata.resourceVersion', resourceVersion);
}

/** Throws for a response that does not conform to the API. */
export function asObject(value: unknown): PatchMap {
  if (!isMap(value)) throw new ApiError('InternalError', 'the response is not a JSON object');
  return value;
}

export function requireString(field: string, value: unknown): string {
  if (typeof value !== 'string') throw new ApiError('InternalError', `the response has no ${field}`);
  return value;
}
