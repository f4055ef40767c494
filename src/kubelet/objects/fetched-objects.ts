import type { ConfigMap, Node, Pod, Secret } from '../../api/generated/core-v1.ts';
import type { Clock } from '../../host/clock.ts';
import type { ApiServer } from '../api-client/api-server.ts';
import { fetchObject } from './fetch-object.ts';
import { type ObjectRef, ObjectReferences, objectRef } from './object-references.ts';
import { ObjectError, type PodObjects } from './pod-objects.ts';

const DEFAULT_TTL_MS = 60_000;
const TTL_ANNOTATION = 'node.alpha.kubernetes.io/ttl';

/** kubelet's `configMapAndSecretChangeDetectionStrategy`. */
export type ChangeDetection = 'Watch' | 'Cache' | 'Get';

export interface FetchedObjectsDeps {
  readonly api: Pick<ApiServer, 'get'>;
  readonly clock: Clock;
  /** How long a cached object is valid; 0: every access is a request. */
  readonly ttlMs: () => number;
}

/** The last response of the server and its time. */
type Answer<T> = { readonly atMs: number } & ({ readonly object: T } | { readonly missing: ObjectError });

/**
 * ConfigMaps and Secrets of the API server, requested when a pod needs them and cached for `ttlMs`. Pods are not woken
 * by changes: they see them at their next sync. Objects that no pod refers to are requested each time.
 */
export class FetchedObjects implements PodObjects {
  readonly #deps: FetchedObjectsDeps;
  readonly #references = new ObjectReferences();
  readonly #configMaps = new Map<string, Answer<ConfigMap>>();
  readonly #secrets = new Map<string, Answer<Secret>>();

  constructor(deps: FetchedObjectsDeps) {
    this.#deps = deps;
  }

  configMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMap> {
    const ref = objectRef('configmap', namespace, name);
    return this.#value(ref, this.#configMaps, () => fetchObject('configmaps', ref, this.#deps.api, signal));
  }

  secret(namespace: string, name: string, signal: AbortSignal): Promise<Secret> {
    const ref = objectRef('secret', namespace, name);
    return this.#value(ref, this.#secrets, () => fetchObject('secrets', ref, this.#deps.api, signal));
  }

  /** Drops cached objects that are new to the pod, so that it starts with current values. */
  follow(pod: Pod): void {
    const { gained, dropped } = this.#references.follow(pod);
    this.#drop([...gained, ...dropped]);
  }

  forget(uid: string): void {
    this.#drop(this.#references.forget(uid));
  }

  #drop(refs: readonly ObjectRef[]): void {
    for (const { kind, id } of refs) (kind === 'configmap' ? this.#configMaps : this.#secrets).delete(id);
  }

  /** A missing object is requested each time. While the server is not available, the cached object is used. */
  async #value<T>(ref: ObjectRef, answers: Map<string, Answer<T>>, fetch: () => Promise<T>): Promise<T> {
    const { clock, ttlMs } = this.#deps;
    const last = answers.get(ref.id);
    if (last && 'object' in last && clock.monotonic() < last.atMs + ttlMs()) return last.object;
    const keep = (answer: Answer<T>): void => {
      if (this.#references.podsOf(ref).length > 0) answers.set(ref.id, answer);
    };
    try {
      const object = await fetch();
      keep({ object, atMs: clock.monotonic() });
      return object;
    } catch (error) {
      if (!(error instanceof ObjectError)) throw error;
      if (error.isMissing) keep({ missing: error, atMs: clock.monotonic() });
      if (error.isMissing || !last) throw error;
      if ('missing' in last) throw last.missing;
      return last.object;
    }
  }
}

/** The cache lifetime that the cluster's controllers ask for in a node annotation: longer in large clusters. */
export function objectTtlMs(node: Node | undefined): number {
  const text = node?.metadata.annotations?.[TTL_ANNOTATION] ?? '';
  return /^[+-]?\d+$/.test(text) ? Number(text) * 1000 : DEFAULT_TTL_MS;
}
