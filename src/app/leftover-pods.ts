import type { Pod } from '../api/generated/core-v1.ts';
import type { ObservedPods } from '../kubelet/pleg/observed-pods.ts';
import type { PodCgroups } from '../kubelet/resources/pod-cgroups.ts';
import { orphanPod } from '../kubelet/sync-loop.ts';
import type { PodDirectories } from '../kubelet/volumes/pod-directories.ts';

/** Every place that a pod leaves traces in. */
export interface LeftoverPlaces {
  readonly observed: ObservedPods;
  readonly directories: PodDirectories;
  readonly cgroups: PodCgroups;
}

/** Every pod of which there is anything on this machine, by UID; the runtime also knows their names. */
export async function leftoverPods({ observed, directories, cgroups }: LeftoverPlaces): Promise<Map<string, Pod>> {
  const found = new Map<string, Pod>();
  const uids = [...(await directories.existing()), ...(await cgroups.existing())];
  for (const uid of uids) found.set(uid, orphanPod(uid, '', ''));
  for (const { uid, name, namespace } of observed.all.values()) found.set(uid, orphanPod(uid, name, namespace));
  return found;
}
