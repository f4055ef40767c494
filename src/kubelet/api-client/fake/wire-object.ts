import type { ObjectMeta } from '../../../api/generated/core-v1.ts';
import { deepFreeze } from '../../../base/deep-freeze.ts';
import type { ApiObjects, Resource } from '../api-server.ts';

/** Any object as it goes over the wire: JSON, deeply frozen. */
export interface WireObject {
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** A copy that shares nothing with what was given; fields that are undefined are left out. */
export function toWire(object: object): WireObject {
  return deepFreeze(JSON.parse(JSON.stringify(object)));
}

/** The typed view of an object of this resource. */
export function fromWire<R extends Resource>(_resource: R, object: WireObject): ApiObjects[R] {
  // It was of this type when it came in, and what the server changes in it keeps to the API.
  return object as unknown as ApiObjects[R];
}

/** The object with other metadata; undefined takes a field out. */
export function withMetadata(object: WireObject, change: ObjectMeta): WireObject {
  const metadata: ObjectMeta = JSON.parse(JSON.stringify({ ...object.metadata, ...change }));
  return deepFreeze({ ...object, metadata });
}
