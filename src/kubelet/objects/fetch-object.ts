import { errorText } from '../../base/error-text.ts';
import type { ApiObjects, ApiServer } from '../api-client/api-server.ts';
import { isApiError } from '../api-client/is-api-error.ts';
import type { ObjectRef } from './object-references.ts';
import { ObjectError, objectNotFound } from './pod-objects.ts';

/** Requests an object from the API server. Rejects with an `ObjectError`. */
export async function fetchObject<R extends 'configmaps' | 'secrets'>(
  resource: R,
  ref: ObjectRef,
  api: Pick<ApiServer, 'get'>,
  signal: AbortSignal,
): Promise<ApiObjects[R]> {
  const { namespace, name } = ref;
  try {
    return await api.get({ resource, namespace, name }, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isApiError(error, 'NotFound')) throw objectNotFound(ref);
    throw new ObjectError(errorText(error), { cause: error, isMissing: false });
  }
}
