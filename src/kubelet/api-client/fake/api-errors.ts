import { ApiError, type ObjectKey } from '../api-server.ts';
import { resourceFacts } from './resource-facts.ts';

/** The errors of kube-apiserver, with its messages. */

export function notFound({ resource, name }: ObjectKey): ApiError {
  return new ApiError('NotFound', `${resourceFacts(resource).qualifiedName} ${JSON.stringify(name)} not found`);
}

export function noSuchPath(): ApiError {
  return new ApiError('NotFound', 'the server could not find the requested resource');
}

export function alreadyExists({ resource, name }: ObjectKey): ApiError {
  return new ApiError(
    'AlreadyExists',
    `${resourceFacts(resource).qualifiedName} ${JSON.stringify(name)} already exists`,
  );
}

/** A concurrent write was first. */
export function modified(key: ObjectKey): ApiError {
  return conflict(
    resourceFacts(key.resource).qualifiedName,
    key.name,
    'the object has been modified; please apply your changes to the latest version and try again',
  );
}

/** The update was for an object with another UID. */
export function wrongUidToUpdate(key: ObjectKey, wanted: string, found: string): ApiError {
  const { qualifiedName, storagePrefix } = resourceFacts(key.resource);
  const path = ['/registry', storagePrefix, ...(key.namespace === '' ? [] : [key.namespace]), key.name].join('/');
  const storageError =
    `StorageError: invalid object, Code: 4, Key: ${path}, ResourceVersion: 0, AdditionalErrorMsg: ` +
    `Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${found}`;
  return conflict(qualifiedName, key.name, storageError);
}

/** The deletion was for an object with another UID. */
export function wrongUidToDelete(key: ObjectKey, wanted: string, found: string): ApiError {
  return conflict(
    resourceFacts(key.resource).qualifiedKind,
    key.name,
    `the UID in the precondition (${wanted}) does not match the UID in record (${found}). ` +
      'The object might have been deleted and then recreated',
  );
}

/** `kind` as in the server's message, which sometimes is the resource. */
export function invalid(kind: string, name: string, errors: readonly string[]): ApiError {
  const [only = ''] = errors;
  const text = errors.length === 1 ? only : `[${errors.join(', ')}]`;
  return new ApiError('Invalid', `${kind} ${JSON.stringify(name)} is invalid: ${text}`);
}

export function expired(resourceVersion: number, oldest: number): ApiError {
  return new ApiError('Expired', `too old resource version: ${resourceVersion} (${oldest})`);
}

export function unavailable(): ApiError {
  return new ApiError('Unavailable', 'connect: connection refused');
}

export function badRequest(message: string): ApiError {
  return new ApiError('BadRequest', message);
}

export function conflict(what: string, name: string, why: string): ApiError {
  return new ApiError('Conflict', `Operation cannot be fulfilled on ${what} ${JSON.stringify(name)}: ${why}`);
}
