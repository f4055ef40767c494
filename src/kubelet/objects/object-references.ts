import type { Pod } from '../../api/generated/core-v1.ts';
import { referencedObjects } from './referenced-objects.ts';

/** As kubelet's messages spell them. */
export type ObjectKind = 'configmap' | 'secret';

/** Names one object. `id` is unique. */
export interface ObjectRef {
  readonly kind: ObjectKind;
  readonly namespace: string;
  readonly name: string;
  readonly id: string;
}

export function objectRef(kind: ObjectKind, namespace: string, name: string): ObjectRef {
  return { kind, namespace, name, id: `${kind} ${namespace}/${name}` };
}

export interface ReferenceChange {
  /** Objects that no pod referred to before. */
  readonly added: readonly ObjectRef[];
  /** Objects that this pod did not refer to before. */
  readonly gained: readonly ObjectRef[];
  /** Objects that no pod refers to any more. */
  readonly dropped: readonly ObjectRef[];
}

/** Records which pods refer to which objects. */
export class ObjectReferences {
  readonly #byPod = new Map<string, ReadonlyMap<string, ObjectRef>>();
  readonly #byObject = new Map<string, Set<string>>();

  /** Replaces the references of the pod's previous version. */
  follow(pod: Pod): ReferenceChange {
    const { uid, namespace } = pod.metadata;
    const { configMaps, secrets } = referencedObjects(pod);
    const refs = [
      ...[...configMaps].map((name) => objectRef('configmap', namespace, name)),
      ...[...secrets].map((name) => objectRef('secret', namespace, name)),
    ];
    const before = this.#byPod.get(uid);
    const now = new Map(refs.map((ref) => [ref.id, ref]));
    this.#byPod.set(uid, now);
    const added = refs.filter(({ id }) => this.#add(id, uid));
    const lost = [...(before?.values() ?? [])].filter(({ id }) => !now.has(id));
    const gained = refs.filter(({ id }) => !before?.has(id));
    return { added, gained, dropped: lost.filter(({ id }) => this.#remove(id, uid)) };
  }

  /** Returns the objects that no pod refers to any more. */
  forget(uid: string): readonly ObjectRef[] {
    const lost = [...(this.#byPod.get(uid)?.values() ?? [])];
    this.#byPod.delete(uid);
    return lost.filter(({ id }) => this.#remove(id, uid));
  }

  podsOf({ id }: Pick<ObjectRef, 'id'>): readonly string[] {
    return [...(this.#byObject.get(id) ?? [])];
  }

  /** Returns whether this is the first reference to the object. */
  #add(id: string, uid: string): boolean {
    const pods = this.#byObject.get(id);
    if (pods) pods.add(uid);
    else this.#byObject.set(id, new Set([uid]));
    return pods === undefined;
  }

  /** Returns whether this was the last reference to the object. */
  #remove(id: string, uid: string): boolean {
    const pods = this.#byObject.get(id);
    pods?.delete(uid);
    if (pods === undefined || pods.size > 0) return false;
    return this.#byObject.delete(id);
  }
}
