import type { Pod } from '../../api/generated/core-v1.ts';
import { CONFIG_HASH, CONFIG_MIRROR, isMirrorPod, isStaticPod, podFullName } from '../../api/pod-names.ts';
import type { DesiredPods } from './desired-pods.ts';
import type { SourceName } from './pod-source.ts';

/** Of two pods with one full name the one of the later source counts: what the machine says of itself wins. */
const SOURCES: readonly SourceName[] = ['api', 'http', 'file'];

/**
 * Every pod that a source speaks of, found by UID and by full name, and which mirror pod belongs to which static pod. A
 * static pod and its mirror have the same full name; a mirror pod is never among `pods`.
 */
export interface PodIndex {
  /** Sources that have spoken. */
  readonly ready: ReadonlySet<SourceName>;
  readonly podByUid: ReadonlyMap<string, Pod>;
  readonly podByFullName: ReadonlyMap<string, Pod>;
  readonly mirrorPods: readonly Pod[];
  /** Mirror pods of which no pod bears the name. */
  readonly orphanedMirrorPods: readonly Pod[];

  /** The mirror pod of a static pod's name, whatever version of the pod it was made from. */
  mirrorOf(pod: Pod): Pod | undefined;
  staticOf(mirror: Pod): Pod | undefined;
  /**
   * What the API server has of a pod, and where its status goes: the pod itself, or the mirror that was made from this
   * version of a static pod. It need not be among the pods any more.
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

/** Whether the mirror was made from this version of the static pod. */
export function isMirrorOf(mirror: Pod, pod: Pod): boolean {
  const hash = pod.metadata.annotations?.[CONFIG_HASH];
  return podFullName(mirror) === podFullName(pod) && mirror.metadata.annotations?.[CONFIG_MIRROR] === hash;
}
