import type { ConfigMap, Pod, Secret } from '../../api/generated/core-v1.ts';
import { CausedError, type ErrorCause } from '../pod/pod-cause.ts';
import type { ObjectRef } from './object-references.ts';

/**
 * The ConfigMaps and Secrets that pods refer to.
 *
 * 1. Objects of followed pods are cached: reading them again costs no request.
 * 2. When such an object changes, appears or disappears, every followed pod that refers to it is woken.
 * 3. Returned objects are immutable values.
 */
export interface PodObjects {
  /** Waits for the first list, as long as kubelet does. Rejects with an `ObjectError`. */
  configMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMap>;
  secret(namespace: string, name: string, signal: AbortSignal): Promise<Secret>;

  /** Called for each version of a pod that is to run; replaces the previous version. */
  follow(pod: Pod): void;
  /** Called when no container of the pod runs any more. */
  forget(uid: string): void;
}

/** A failed lookup of an object. The message is kubelet's: `configmap "settings" not found`. */
export class ObjectError extends CausedError {
  override readonly name = 'ObjectError';
  /** The object does not exist, as opposed to: the server could not be asked. Optional objects may be missing. */
  readonly isMissing: boolean;

  constructor(
    message: string,
    options: ErrorOptions & { readonly isMissing: boolean; readonly podCause?: ErrorCause | undefined },
  ) {
    super(message, options.podCause, options);
    this.isMissing = options.isMissing;
  }
}

/** kubelet's error for an object that does not exist. */
export function objectNotFound({ kind, name }: Pick<ObjectRef, 'kind' | 'name'>): ObjectError {
  const podCause = { kind: 'objectNotFound', object: kind, name } as const;
  return new ObjectError(`${kind} ${JSON.stringify(name)} not found`, { isMissing: true, podCause });
}
