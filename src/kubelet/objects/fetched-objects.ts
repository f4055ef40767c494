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
  /** For how long an answer is good, at this moment; 0: each time the server is asked. */
  readonly ttlMs: () => number;
}

/** What the server answered last, and when. */
type Answer<T> = { readonly atMs: number } & ({ readonly object: T } | { readonly missing: ObjectError });

/**
 * ConfigMaps and Secrets of the API server, asked for when a pod looks at them and not more often than necessary. Nobody
 * is woken by a change: a pod finds it at its next look. What nobody refers to is asked for each time.
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

  /** A pod begins with what is true then. */
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

  /** What is missing is looked for each time; while it cannot be asked for, an object is what it was. */
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

/** How long the cluster's controllers want nodes to be content with an answer: longer where there are many nodes. */
export function objectTtlMs(node: Node | undefined): number {
  const text = node?.metadata.annotations?.[TTL_ANNOTATION] ?? '';
  return /^[+-]?\d+$/.test(text) ? Number(text) * 1000 : DEFAULT_TTL_MS;
}
