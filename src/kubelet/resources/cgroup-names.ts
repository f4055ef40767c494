import type { Pod } from '../../api/generated/core-v1.ts';
import { type QosClass, qosClass } from '../../api/qos.ts';
import type { CgroupDriver } from '../../host/cgroups.ts';
import { pathSafeUid } from '../pod/pod-paths.ts';

export interface CgroupSettings {
  /** The parent of `kubepods`: `/` for kubelet's own layout. */
  readonly cgroupRoot: string;
  /** Absent: `cgroupfs`. */
  readonly cgroupDriver?: CgroupDriver | undefined;
}

/** A cgroup as its path components from the root, independent of the cgroup driver. */
export type CgroupName = readonly string[];

export function kubepodsCgroup({ cgroupRoot }: CgroupSettings): CgroupName {
  return [...cgroupRoot.split('/').filter((part) => part !== ''), 'kubepods'];
}

/** Pods of the class Guaranteed are directly below `kubepods`. */
export function qosCgroup(qos: QosClass, settings: CgroupSettings): CgroupName {
  const root = kubepodsCgroup(settings);
  return qos === 'Guaranteed' ? root : [...root, qos.toLowerCase()];
}

/** The cgroup of a pod of this QoS class. */
export function podCgroup(uid: string, qos: QosClass, settings: CgroupSettings): CgroupName {
  return [...qosCgroup(qos, settings), `pod${pathSafeUid(uid)}`];
}

/** The parent cgroup of the sandbox and its containers, as the runtime gets it. */
export function podCgroupPath(pod: Pod, settings: CgroupSettings): string {
  return cgroupPath(podCgroup(pod.metadata.uid, qosClass(pod), settings), settings);
}

/** The path in the cgroup file system. */
export function cgroupPath(name: CgroupName, { cgroupDriver }: CgroupSettings): string {
  return cgroupDriver === 'systemd' ? systemdPath(name) : `/${name.join('/')}`;
}

/**
 * A slice's name contains the names of all its parents, joined by dashes:
 * `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1234_5678.slice`.
 */
function systemdPath(name: CgroupName): string {
  const parts = name.map((part) => part.replaceAll('-', '_'));
  return `/${parts.map((_, index) => `${parts.slice(0, index + 1).join('-')}.slice`).join('/')}`;
}

/**
 * The UID of the pod that a cgroup directory belongs to. A slice's name repeats its parents:
 * `kubepods-pod1234_5678.slice`.
 */
export function podUidOfCgroup(folder: string, { cgroupDriver }: CgroupSettings): string | undefined {
  const isSlice = cgroupDriver === 'systemd';
  const step = isSlice
    ? folder
        .replace(/\.slice$/, '')
        .split('-')
        .at(-1)
        ?.replaceAll('_', '-')
    : folder;
  return /^pod(.+)$/.exec(step ?? '')?.[1];
}
