import type { Container, Pod, VolumeMount } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import { Mount, MountPropagation } from '../../cri/generated/runtime-v1.ts';
import { PodError } from '../pod/pod-error.ts';
import { recursiveReadOnly } from '../sync/config/recursive-read-only.ts';
import type { ImageMount } from './image-volumes.ts';
import type { ContainerVolume } from './volume-plugin.ts';

const ETC_HOSTS = '/etc/hosts';

/** Files that kubelet creates for a container. An absent file is not mounted. */
export interface ContainerFiles {
  readonly hostsFile: string | undefined;
  readonly terminationLog: string | undefined;
}

export interface ContainerMountsInput {
  readonly container: Container;
  /** By name, from `PodVolumes.volumes`. */
  readonly volumes: ReadonlyMap<string, ContainerVolume>;
  /** Host paths of `subPath` mounts, by index of the mount, from `bindSubPaths`. */
  readonly subPaths: ReadonlyMap<number, string>;
  /** Mounts of image volumes, by index of the mount, from `imageMounts`. */
  readonly images: ReadonlyMap<number, ImageMount>;
  readonly files: ContainerFiles;
  /** Whether the pod's runtime handler supports recursive read-only mounts. Absent: it does not. */
  readonly supportsRecursiveReadOnly?: boolean | undefined;
  /** The runtime relabels files for the container. */
  readonly seLinuxEnabled?: boolean;
}

/** A pod with its own network gets a hosts file once it has an address. */
export function needsHostsFile({ spec }: Pod, podIPs: readonly string[]): boolean {
  return podIPs.length > 0 || spec.hostNetwork === true;
}

/**
 * The mounts of a container in kubelet's order: declared volumes, /etc/hosts unless a volume is mounted there, the
 * termination message. Throws a `PodError` (`CreateContainerConfigError`) for a volume that does not exist.
 */
export function containerMounts(input: ContainerMountsInput): Mount[] {
  const { container, volumes, subPaths, images, files } = input;
  const { supportsRecursiveReadOnly = false, seLinuxEnabled = false } = input;
  const declared = container.volumeMounts ?? [];
  const mounts = declared.map((mount, index) => {
    const volume = volumes.get(mount.name);
    const source = volume && mountSource(volume, subPaths.get(index), images.get(index));
    if (volume === undefined || source === undefined) {
      throw configError(`cannot find volume "${mount.name}" to mount into container "${container.name}"`);
    }
    return {
      ...volumeMount(mount, volume, source),
      recursiveReadOnly: isRecursive(mount, supportsRecursiveReadOnly),
      selinuxRelabel: seLinuxEnabled && (volume.isRelabelled ?? false),
    };
  });
  const selinuxRelabel = seLinuxEnabled;
  const hidesHosts = declared.some(({ mountPath }) => mountPath === ETC_HOSTS);
  if (files.hostsFile !== undefined && !hidesHosts) {
    mounts.push(Mount.fromPartial({ containerPath: ETC_HOSTS, hostPath: files.hostsFile, selinuxRelabel }));
  }
  if (files.terminationLog !== undefined && container.terminationMessagePath) {
    const containerPath = absolute(container.terminationMessagePath);
    mounts.push(Mount.fromPartial({ containerPath, hostPath: files.terminationLog, selinuxRelabel }));
  }
  return mounts;
}

type MountSource = Pick<Mount, 'hostPath'> | Pick<Mount, 'image' | 'imageSubPath'>;

function mountSource(
  { path }: ContainerVolume,
  subPath: string | undefined,
  image: ImageMount | undefined,
): MountSource | undefined {
  if (image) return { image: image.image, imageSubPath: image.subPath };
  return path === undefined ? undefined : { hostPath: subPath ?? path };
}

function volumeMount(mount: VolumeMount, volume: ContainerVolume, source: MountSource): Mount {
  return Mount.fromPartial({
    ...source,
    containerPath: absolute(mount.mountPath),
    readonly: volume.readOnly || (mount.readOnly ?? false),
    propagation: propagation(mount.mountPropagation),
  });
}

function isRecursive(mount: VolumeMount, supported: boolean): boolean {
  try {
    return recursiveReadOnly(mount, supported);
  } catch (error) {
    throw configError(`failed to resolve recursive read-only mode: ${errorText(error)}`);
  }
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
