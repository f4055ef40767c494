import type { Container, Pod, VolumeMount } from '../../api/generated/core-v1.ts';
import { Mount, MountPropagation } from '../../cri/generated/runtime-v1.ts';
import { PodError } from '../sync/pod-error.ts';

const ETC_HOSTS = '/etc/hosts';

/** Files that kubelet makes for a container; absent: none is mounted. */
export interface ContainerFiles {
  readonly hostsFile: string | undefined;
  readonly terminationLog: string | undefined;
}

export interface ContainerMountsInput {
  readonly container: Container;
  /** Host path by volume name: from `PodVolumes.paths`. */
  readonly volumes: ReadonlyMap<string, string>;
  readonly files: ContainerFiles;
}

/** A pod on its own network has a hosts file of its own once it has an address. */
export function needsHostsFile({ spec }: Pod, podIPs: readonly string[]): boolean {
  return podIPs.length > 0 || spec.hostNetwork === true;
}

/**
 * The mounts of a container in kubelet's order: volumes as declared, /etc/hosts unless a volume is there, the
 * termination message. Throws a `PodError` (`CreateContainerConfigError`) for a volume that is not there.
 */
export function containerMounts({ container, volumes, files }: ContainerMountsInput): Mount[] {
  const declared = container.volumeMounts ?? [];
  const mounts = declared.map((mount) => volumeMount(mount, container, volumes));
  const hidesHosts = declared.some(({ mountPath }) => mountPath === ETC_HOSTS);
  if (files.hostsFile !== undefined && !hidesHosts) {
    mounts.push(Mount.fromPartial({ containerPath: ETC_HOSTS, hostPath: files.hostsFile }));
  }
  if (files.terminationLog !== undefined && container.terminationMessagePath) {
    const containerPath = absolute(container.terminationMessagePath);
    mounts.push(Mount.fromPartial({ containerPath, hostPath: files.terminationLog }));
  }
  return mounts;
}

function volumeMount(mount: VolumeMount, container: Container, volumes: ReadonlyMap<string, string>): Mount {
  const hostPath = volumes.get(mount.name);
  if (hostPath === undefined) {
    throw configError(`cannot find volume "${mount.name}" to mount into container "${container.name}"`);
  }
  return Mount.fromPartial({
    containerPath: absolute(mount.mountPath),
    hostPath,
    readonly: mount.readOnly ?? false,
    propagation: propagation(mount.mountPropagation),
  });
}

function propagation(mode: string | undefined): MountPropagation {
  switch (mode) {
    case undefined:
    case 'None':
      return MountPropagation.PROPAGATION_PRIVATE;
    case 'HostToContainer':
      return MountPropagation.PROPAGATION_HOST_TO_CONTAINER;
    case 'Bidirectional':
      return MountPropagation.PROPAGATION_BIDIRECTIONAL;
    default:
      throw configError(`invalid MountPropagation mode: "${mode}"`);
  }
}

function configError(message: string): PodError {
  return new PodError('CreateContainerConfigError', message, { eventMessage: `Error: ${message}` });
}

function absolute(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}
