import type { Pod } from '../../api/generated/core-v1.ts';
import { CONFIG_HASH, CONFIG_MIRROR, isMirrorPod, isStaticPod, podFullName } from '../../api/pod-names.ts';
import type { DesiredPods } from './desired-pods.ts';
import type { SourceName } from './pod-source.ts';

/** Of several pods with one full name, the one of the last source wins: local sources take precedence. */
const SOURCES: readonly SourceName[] = ['api', 'http', 'file'];

/**
 * All desired pods by UID and full name, and the mirror pods of static pods. A static pod and its mirror have the same
 * full name. `podByUid` and `podByFullName` contain no mirror pods.
 */
export interface PodIndex {
  /** Sources that are ready. */
  readonly ready: ReadonlySet<SourceName>;
  readonly podByUid: ReadonlyMap<string, Pod>;
  readonly podByFullName: ReadonlyMap<string, Pod>;
  readonly mirrorPods: readonly Pod[];
  /** Mirror pods without a pod of their full name. */
  readonly orphanedMirrorPods: readonly Pod[];

  /** The mirror pod with a static pod's full name, of any version of the pod. */
  mirrorOf(pod: Pod): Pod | undefined;
  staticOf(mirror: Pod): Pod | undefined;
  /**
   * The object at the API server that gets a pod's status: the pod itself, or the mirror of this version of a static
   * pod. The pod itself may no longer be desired.
   */
  apiPodOf(pod: Pod): Pod | undefined;
}

export function indexPods({ ready, bySource }: DesiredPods): PodIndex {
  const all = SOURCES.flatMap((source) => [...(bySource.get(source)?.values() ?? [])]);
  const pods = all.filter((pod) => !isMirrorPod(pod));
  const mirrorPods = all.filter(isMirrorPod);
  const podByUid = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
  const podByFullName = new Map(pods.map((pod) => [podFullName(pod), pod]));
  const mirrorByFullName = new Map(mirrorPods.map((mirror) => [podFullName(mirror), mirror]));

  const mirrorOf = (pod: Pod): Pod | undefined =>
    isStaticPod(pod) ? mirrorByFullName.get(podFullName(pod)) : undefined;
  const staticOf = (mirror: Pod): Pod | undefined => podByFullName.get(podFullName(mirror));
  return {
    ready,
    podByUid,
    podByFullName,
    mirrorPods,
    orphanedMirrorPods: mirrorPods.filter((mirror) => !staticOf(mirror)),
    mirrorOf,
    staticOf,
    apiPodOf: (pod) => {
      if (!isStaticPod(pod)) return podByUid.get(pod.metadata.uid);
      const mirror = mirrorOf(pod);
      return mirror && isMirrorOf(mirror, pod) ? mirror : undefined;
    },
  };
}

/** Whether the mirror was created from this version of the static pod. */
export function isMirrorOf(mirror: Pod, pod: Pod): boolean {
  const hash = pod.metadata.annotations?.[CONFIG_HASH];
  return podFullName(mirror) === podFullName(pod) && mirror.metadata.annotations?.[CONFIG_MIRROR] === hash;
}
