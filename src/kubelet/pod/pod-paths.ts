import type { Pod } from '../../api/generated/core-v1.ts';

/** `/var/log/pods/<namespace>_<name>_<uid>`. CRI log paths of containers are relative to it. */
export function podLogDirectory(podLogsDir: string, { metadata }: Pod): string {
  return `${podLogsDir}/${metadata.namespace}_${metadata.name}_${metadata.uid}`;
}

/** Relative to the pod's log directory. */
export function containerLogPath(containerName: string, restartCount: number): string {
  return `${containerName}/${restartCount}.log`;
}

/** `/var/lib/kubelet/pods/<uid>`: the pod's volumes, plugins and container files. */
export function podDirectory(rootDir: string, uid: string): string {
  return `${rootDir}/pods/${pathSafeUid(uid)}`;
}

/** Returns the UID. Throws when it would escape the directories named after it: a manifest may set its own UID. */
export function pathSafeUid(uid: string): string {
  if (uid === '' || uid.includes('/') || uid.startsWith('.')) throw new Error(`invalid pod UID ${JSON.stringify(uid)}`);
  return uid;
}

/** Holds the termination messages of one container. */
export function containerDirectory(rootDir: string, uid: string, containerName: string): string {
  return `${podDirectory(rootDir, uid)}/containers/${containerName}`;
}

/** The pod's /etc/hosts on the host. */
export function hostsFilePath(rootDir: string, uid: string): string {
  return `${podDirectory(rootDir, uid)}/etc-hosts`;
}
