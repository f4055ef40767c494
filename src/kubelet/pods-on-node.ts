import type { Pod } from '../api/generated/core-v1.ts';
import type { ObservedPods } from './pleg/observed-pods.ts';
import { orphanPod } from './pod/orphan-pod.ts';
import type { PodCgroups } from './resources/pod-cgroups.ts';
import type { PodDirectories } from './volumes/pod-directories.ts';

/** Everything on the node that holds state of a pod. */
export interface PodTraceSources {
  readonly observed: ObservedPods;
  readonly directories: PodDirectories;
  readonly cgroups: PodCgroups;
}

/** Finds every pod with state on this node, by UID. Only the runtime knows their names. */
export async function findPodsOnNode({ observed, directories, cgroups }: PodTraceSources): Promise<Map<string, Pod>> {
  const found = new Map<string, Pod>();
  const uids = [...(await directories.existing()), ...(await cgroups.existing())];
  for (const uid of uids) found.set(uid, orphanPod(uid, '', ''));
  for (const { uid, name, namespace } of observed.all.values()) found.set(uid, orphanPod(uid, name, namespace));
  return found;
}
