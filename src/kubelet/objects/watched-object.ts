import { abortable } from '../../base/abortable.ts';
import type { ApiObjects } from '../api-client/api-server.ts';
import { type ReflectorDeps, runReflector } from '../api-client/reflector.ts';
import type { ObjectRef } from './object-references.ts';
import { ObjectError, objectNotFound } from './pod-objects.ts';

/** How long a reader waits for the first list, as in kubelet. */
const FIRST_LIST_MS = 1_000;

export interface WatchedObjectDeps extends ReflectorDeps {
  /** Called when the object has changed, or when it arrives after a reader's wait has timed out. */
  readonly onChange: () => void;
}

/** A watch on one object of the API server. The watch ends once an immutable object has been read. */
export class WatchedObject<R extends 'configmaps' | 'secrets'> {
  readonly #resource: R;
  readonly #ref: ObjectRef;
  readonly #deps: WatchedObjectDeps;
  readonly #end = new AbortController();
  readonly #firstList = Promise.withResolvers<void>();
  #state: 'unknown' | 'missedByReader' | 'known' = 'unknown';
  #object: ApiObjects[R] | undefined;

  constructor(resource: R, ref: ObjectRef, deps: WatchedObjectDeps) {
    this.#resource = resource;
    this.#ref = ref;
    this.#deps = deps;
  }

  async run(life: AbortSignal): Promise<void> {
    const { namespace, name } = this.#ref;
    const selection = { resource: this.#resource, namespace, fieldSelector: `metadata.name=${name}` };
    const handler = {
      onList: (objects: readonly ApiObjects[R][]) => this.#set(objects[0]),
      onChange: ({ type, object }: { type: string; object: ApiObjects[R] }) =>
        this.#set(type === 'DELETED' ? undefined : object),
    };
    await runReflector(selection, handler, this.#deps, AbortSignal.any([life, this.#end.signal]));
  }

  stop(): void {
    this.#end.abort();
  }

  /** Waits for the first list. Rejects with an `ObjectError`. */
  async value(signal: AbortSignal): Promise<ApiObjects[R]> {
    if (this.#state !== 'known') await this.#waitForFirstList(signal);
    if (this.#object === undefined) throw objectNotFound(this.#ref);
    if (this.#object.immutable) this.stop();
    return this.#object;
  }

  async #waitForFirstList(signal: AbortSignal): Promise<void> {
    const limit = this.#deps.clock.deadline(FIRST_LIST_MS);
    try {
      await abortable(this.#firstList.promise, AbortSignal.any([signal, limit]));
    } catch (error) {
      signal.throwIfAborted();
      this.#state = 'missedByReader';
      const message = `failed to sync ${this.#ref.kind} cache: timed out waiting for the condition`;
      const podCause = { kind: 'objectNotSynced', object: this.#ref.kind } as const;
      throw new ObjectError(message, { cause: error, isMissing: false, podCause });
    }
  }

  #set(object: ApiObjects[R] | undefined): void {
    const before = this.#state;
    const isSame = objectVersion(this.#object) === objectVersion(object);
    this.#object = object;
    this.#state = 'known';
    this.#firstList.resolve();
    if (before === 'missedByReader' || (before === 'known' && !isSame)) this.#deps.onChange();
  }
}

function objectVersion(object: ApiObjects['configmaps' | 'secrets'] | undefined): string {
  return object ? `${object.metadata.uid} ${object.metadata.resourceVersion}` : '';
}
