import type { ConfigMap, Pod, Secret } from '../../api/generated/core-v1.ts';
import type { ApiObjects, ApiServer } from '../api-client/api-server.ts';
import type { ReflectorDeps } from '../api-client/reflector.ts';
import { fetchObject } from './fetch-object.ts';
import { type ObjectRef, ObjectReferences, objectRef } from './object-references.ts';
import type { PodObjects } from './pod-objects.ts';
import { WatchedObject, type WatchedObjectDeps } from './watched-object.ts';

export interface ClusterObjectsDeps extends ReflectorDeps {
  readonly api: ApiServer;
  /** Called when an object that the pod refers to has changed. */
  readonly onChange: (uid: string) => void;
}

/**
 * ConfigMaps and Secrets of the API server. Each object that a followed pod refers to has its own watch, which ends
 * when the last such pod is forgotten. Other objects are requested each time.
 */
export class ClusterObjects implements PodObjects {
  readonly #deps: ClusterObjectsDeps;
  readonly #references = new ObjectReferences();
  readonly #configMaps: ObjectWatches<'configmaps'>;
  readonly #secrets: ObjectWatches<'secrets'>;

  /** Watches end when `life` aborts. */
  constructor(deps: ClusterObjectsDeps, life: AbortSignal) {
    this.#deps = deps;
    this.#configMaps = new ObjectWatches('configmaps', deps, life);
    this.#secrets = new ObjectWatches('secrets', deps, life);
  }

  configMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMap> {
    return this.#configMaps.value(objectRef('configmap', namespace, name), signal);
  }

  secret(namespace: string, name: string, signal: AbortSignal): Promise<Secret> {
    return this.#secrets.value(objectRef('secret', namespace, name), signal);
  }

  follow(pod: Pod): void {
    const { added, dropped } = this.#references.follow(pod);
    for (const ref of added) this.#watches(ref).start(ref, () => this.#notifyPods(ref));
    this.#stop(dropped);
  }

  forget(uid: string): void {
    this.#stop(this.#references.forget(uid));
  }

  #notifyPods(ref: ObjectRef): void {
    for (const uid of this.#references.podsOf(ref)) this.#deps.onChange(uid);
  }

  #stop(refs: readonly ObjectRef[]): void {
    for (const ref of refs) this.#watches(ref).stop(ref);
  }

  #watches({ kind }: ObjectRef): ObjectWatches<'configmaps'> | ObjectWatches<'secrets'> {
    return kind === 'configmap' ? this.#configMaps : this.#secrets;
  }
}

/** The watched objects of one resource. */
class ObjectWatches<R extends 'configmaps' | 'secrets'> {
  readonly #resource: R;
  readonly #deps: ClusterObjectsDeps;
  readonly #life: AbortSignal;
  readonly #watched = new Map<string, WatchedObject<R>>();

  constructor(resource: R, deps: ClusterObjectsDeps, life: AbortSignal) {
    this.#resource = resource;
    this.#deps = deps;
    this.#life = life;
  }

  start(ref: ObjectRef, onChange: WatchedObjectDeps['onChange']): void {
    const watched = new WatchedObject(this.#resource, ref, { ...this.#deps, onChange });
    this.#watched.set(ref.id, watched);
    void watched.run(this.#life);
  }

  stop({ id }: ObjectRef): void {
    this.#watched.get(id)?.stop();
    this.#watched.delete(id);
  }

  async value(ref: ObjectRef, signal: AbortSignal): Promise<ApiObjects[R]> {
    const watched = this.#watched.get(ref.id);
    return watched ? watched.value(signal) : fetchObject(this.#resource, ref, this.#deps.api, signal);
  }
}
