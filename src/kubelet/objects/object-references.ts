import type { Pod } from '../../api/generated/core-v1.ts';
import { referencedObjects } from './referenced-objects.ts';

/** As kubelet's messages name them. */
export type ObjectKind = 'configmap' | 'secret';

/** Names one object; `id` is the same for the same object only. */
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
  /** Those that nobody referred to before. */
  readonly added: readonly ObjectRef[];
  /** Those that the pod itself did not refer to before. */
  readonly gained: readonly ObjectRef[];
  /** Those that nobody refers to any more. */
  readonly dropped: readonly ObjectRef[];
}

/** Which pods refer to which objects. */
export class ObjectReferences {
  readonly #byPod = new Map<string, ReadonlyMap<string, ObjectRef>>();
  readonly #byObject = new Map<string, Set<string>>();

  /** What this version of the pod refers to replaces what the version before did. */
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

  /** The objects that nobody refers to any more. */
  forget(uid: string): readonly ObjectRef[] {
    const lost = [...(this.#byPod.get(uid)?.values() ?? [])];
    this.#byPod.delete(uid);
    return lost.filter(({ id }) => this.#remove(id, uid));
  }

  podsOf({ id }: Pick<ObjectRef, 'id'>): readonly string[] {
    return [...(this.#byObject.get(id) ?? [])];
  }

  /** Whether nobody referred to it before. */
  #add(id: string, uid: string): boolean {
    const pods = this.#byObject.get(id);
    if (pods) pods.add(uid);
    else this.#byObject.set(id, new Set([uid]));
    return pods === undefined;
  }

  /** Whether nobody refers to it now. */
  #remove(id: string, uid: string): boolean {
    const pods = this.#byObject.get(id);
    pods?.delete(uid);
    if (pods === undefined || pods.size > 0) return false;
    return this.#byObject.delete(id);
  }
}
