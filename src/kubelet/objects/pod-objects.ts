import type { ConfigMap, Pod, Secret } from '../../api/generated/core-v1.ts';
import { CausedError, type ErrorCause } from '../pod/pod-cause.ts';
import type { ObjectRef } from './object-references.ts';

/**
 * The ConfigMaps and Secrets that pods refer to, wherever they come from.
 *
 * 1. What a followed pod refers to is kept at hand: asking for it again costs no request.
 * 2. When one of them changes, appears or disappears, every followed pod that refers to it is woken.
 * 3. Who was answered holds a value: it never changes under its reader.
 */
export interface PodObjects {
  /** Waits for the first answer, no longer than kubelet would. Rejects with an `ObjectError`. */
  configMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMap>;
  secret(namespace: string, name: string, signal: AbortSignal): Promise<Secret>;

  /** The pod in this version is to run; it replaces the version before. */
  follow(pod: Pod): void;
  /** Nothing of the pod runs any more. */
  forget(uid: string): void;
}

/** Why an object could not be had; the message is kubelet's own: `configmap "settings" not found`. */
export class ObjectError extends CausedError {
  override readonly name = 'ObjectError';
  /** There is none of that name, as opposed to: it could not be found out. What is optional may be missing. */
  readonly isMissing: boolean;

  constructor(
    message: string,
    options: ErrorOptions & { readonly isMissing: boolean; readonly podCause?: ErrorCause | undefined },
  ) {
    super(message, options.podCause, options);
    this.isMissing = options.isMissing;
  }
}

/** What kubelet says of an object that is not there. */
export function objectNotFound({ kind, name }: Pick<ObjectRef, 'kind' | 'name'>): ObjectError {
  const podCause = { kind: 'objectNotFound', object: kind, name } as const;
  return new ObjectError(`${kind} ${JSON.stringify(name)} not found`, { isMissing: true, podCause });
}
