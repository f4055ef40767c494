import type { CgroupDriver } from '../../host/cgroups.ts';
import { currentSandbox, type ObservedPod, runningContainers } from '../pod/observed-pod.ts';
import { containerCgroups } from '../stats/container-cgroups.ts';
import type { CgroupLabels } from './cgroup-view.ts';

/** A pod and its cgroup. */
export interface PodCgroup {
  readonly pod: ObservedPod;
  readonly cgroup: string;
}

/** What a cgroup belongs to. */
export type CgroupOwner =
  | { readonly kind: 'pod'; readonly pod: ObservedPod }
  | { readonly kind: 'sandbox'; readonly pod: ObservedPod; readonly id: string }
  | {
      readonly kind: 'container';
      readonly pod: ObservedPod;
      readonly id: string;
      readonly name: string;
      readonly imageId: string;
      /** As in the spec of the pod. */
      readonly image: string;
    };

/** The cgroups of pods, sandboxes and running containers, by every path that they may have. */
export function cgroupOwners(pods: readonly PodCgroup[], driver: CgroupDriver): ReadonlyMap<string, CgroupOwner> {
  const owners = new Map<string, CgroupOwner>();
  for (const { pod, cgroup } of pods) {
    owners.set(cgroup, { kind: 'pod', pod });
    const sandbox = currentSandbox(pod);
    const containers = runningContainers(pod);
    const paths = containerCgroups({ cgroup, containers: [...(sandbox ? [sandbox] : []), ...containers] }, driver);
    if (sandbox)
      for (const path of paths.get(sandbox.id) ?? []) owners.set(path, { kind: 'sandbox', pod, id: sandbox.id });
    for (const { id, name, imageId, image } of containers)
      for (const path of paths.get(id) ?? []) owners.set(path, { kind: 'container', pod, id, name, imageId, image });
  }
  return owners;
}

export interface ImageNames {
  /** The name of an image by its id; empty: it has none. */
  readonly images: ReadonlyMap<string, string>;
  /** The image of a sandbox by its id; runtimes without a process of the sandbox have none. */
  readonly sandboxes: ReadonlyMap<string, string>;
}

/** As kubelet labels the cgroup. */
export function cgroupLabels(path: string, owner: CgroupOwner | undefined, names: ImageNames): CgroupLabels {
  const none = { container: '', id: path, image: '', name: '', namespace: '', pod: '' };
  if (!owner) return none;
  const ofPod = { ...none, namespace: owner.pod.namespace, pod: owner.pod.name };
  if (owner.kind === 'pod') return ofPod;
  if (owner.kind === 'sandbox') return { ...ofPod, name: owner.id, image: names.sandboxes.get(owner.id) ?? '' };
  const image = isImageId(owner.imageId) ? names.images.get(owner.imageId) || owner.image : owner.imageId;
  return { ...ofPod, name: owner.id, container: owner.name, image };
}

/** Older runtimes report the name of an image as its id. */
export function isImageId(id: string): boolean {
  return /^(sha256:)?[0-9a-f]{64}$/.test(id);
}
