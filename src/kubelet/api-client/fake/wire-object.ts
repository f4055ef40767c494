import type { ObjectMeta } from '../../../api/generated/core-v1.ts';
import { deepFreeze } from '../../../base/deep-freeze.ts';
import type { ApiObjects, Resource } from '../api-server.ts';

/** Any object as JSON, deeply frozen. */
export interface WireObject {
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** A deep copy without undefined fields. */
export function toWire(object: object): WireObject {
  return deepFreeze(JSON.parse(JSON.stringify(object)));
}

/** The typed view of an object. */
export function fromWire<R extends Resource>(_resource: R, object: WireObject): ApiObjects[R] {
  // The object had this type when it was written, and the server's changes conform to the API.
  return object as unknown as ApiObjects[R];
}

/** The object with changed metadata; undefined removes a field. */
export function withMetadata(object: WireObject, change: ObjectMeta): WireObject {
  const metadata: ObjectMeta = JSON.parse(JSON.stringify({ ...object.metadata, ...change }));
  return deepFreeze({ ...object, metadata });
}
