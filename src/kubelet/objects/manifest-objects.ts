import type { ConfigMap, Pod, Secret } from '../../api/generated/core-v1.ts';
import type { SourceName } from '../sources/pod-source.ts';
import { joinObjects, type SourceObjects } from '../sources/source-objects.ts';
import { type ObjectKind, type ObjectRef, ObjectReferences, objectRef } from './object-references.ts';
import { ObjectError, objectNotFound, type PodObjects } from './pod-objects.ts';

export interface ManifestObjectsDeps {
  /** Called when an object that the pod refers to has changed. */
  readonly onChange: (uid: string) => void;
}

/**
 * ConfigMaps and Secrets from the manifests. While no source supports objects, lookups fail as in a kubelet without an
 * API server.
 */
export class ManifestObjects implements PodObjects {
  readonly #deps: ManifestObjectsDeps;
  readonly #references = new ObjectReferences();
  readonly #bySource = new Map<SourceName, SourceObjects>();
  #configMaps: ReadonlyMap<string, ConfigMap> = new Map();
  #secrets: ReadonlyMap<string, Secret> = new Map();

  constructor(deps: ManifestObjectsDeps) {
    this.#deps = deps;
  }

  /** Replaces all objects of a source. Pods that refer to a changed object are woken. */
  set(source: SourceName, objects: SourceObjects): void {
    this.#bySource.set(source, objects);
    const { configMaps, secrets } = joinObjects([...this.#bySource.values()]);
    const before = new Map<string, unknown>([...this.#configMaps, ...this.#secrets]);
    this.#configMaps = byId('configmap', configMaps);
    this.#secrets = byId('secret', secrets);
    const now = new Map<string, unknown>([...this.#configMaps, ...this.#secrets]);
    const pods = new Set(changedIds(before, now).flatMap((id) => this.#references.podsOf({ id })));
    for (const uid of pods) this.#deps.onChange(uid);
  }

  async configMap(namespace: string, name: string): Promise<ConfigMap> {
    return this.#find(this.#configMaps, objectRef('configmap', namespace, name), 'configMap');
  }

  async secret(namespace: string, name: string): Promise<Secret> {
    return this.#find(this.#secrets, objectRef('secret', namespace, name), 'secret');
  }

  follow(pod: Pod): void {
    this.#references.follow(pod);
  }

  forget(uid: string): void {
    this.#references.forget(uid);
  }

  #find<T>(objects: ReadonlyMap<string, T>, ref: ObjectRef, title: string): T {
    const found = objects.get(ref.id);
    if (found) return found;
    if (this.#bySource.size > 0) throw objectNotFound(ref);
    const message = `couldn't get ${title} ${ref.namespace}/${ref.name}, no kubeClient defined`;
    throw new ObjectError(message, { isMissing: false });
  }
}

/** Of two objects with the same name the first one wins. */
function byId<T extends ConfigMap | Secret>(kind: ObjectKind, objects: readonly T[]): ReadonlyMap<string, T> {
  const withIds = objects.map((object) => {
    const { namespace = '', name } = object.metadata;
    return [objectRef(kind, namespace, name).id, object] as const;
  });
  return new Map(withIds.toReversed());
}

function changedIds(before: ReadonlyMap<string, unknown>, now: ReadonlyMap<string, unknown>): string[] {
  const ids = new Set([...before.keys(), ...now.keys()]);
  return [...ids].filter((id) => JSON.stringify(before.get(id)) !== JSON.stringify(now.get(id)));
}
