import { invalidField } from '../../cri/field-error.ts';
import { type Mount, MountPropagation } from '../../cri/generated/runtime-v1.ts';
import type { HandlerFeatures } from '../oci/oci-runtime.ts';
import type { SpecRequest } from './spec-request.ts';

/** Checks only the request, before anything is read or created on the machine. */
export function checkMounts({ container, features, machine, mappedSources }: SpecRequest): void {
  for (const [index, mount] of container.mounts.entries()) {
    const field = `mounts[${index}]`;
    checkPaths(mount, field);
    checkAccess(mount, field, features);
    if (mapsIds(mount) && !mappedSources?.has(index)) checkMappings(mount, field, features);
    if (mount.selinuxRelabel && machine.selinux) {
      throw invalidField(`${field}.selinux_relabel`, 'this runtime does not relabel files');
    }
  }
}

function checkPaths(mount: Mount, field: string): void {
  if (mount.containerPath === '') throw invalidField(`${field}.container_path`, 'is empty');
  if (!mount.containerPath.startsWith('/')) {
    throw invalidField(`${field}.container_path`, `${JSON.stringify(mount.containerPath)} is not absolute`);
  }
  if (mount.image !== undefined) {
    if (mount.hostPath !== '') throw invalidField(`${field}.host_path`, 'a mount has either an image or a host path');
    return;
  }
  // `image_sub_path` has no meaning here: kubelet sets it for every sub-path of a pod that has an image volume.
  if (mount.hostPath === '') throw invalidField(`${field}.host_path`, 'is empty, and the mount has no image');
  if (!mount.hostPath.startsWith('/')) {
    throw invalidField(`${field}.host_path`, `${JSON.stringify(mount.hostPath)} is not absolute`);
  }
}

function checkAccess(mount: Mount, field: string, features: HandlerFeatures): void {
  const { propagation, readonly, recursiveReadOnly, hostPath } = mount;
  if (!Object.values(MountPropagation).includes(propagation)) {
    throw invalidField(`${field}.propagation`, `unknown propagation ${propagation}`);
  }
  if (recursiveReadOnly) {
    const where = `(hostPath=${JSON.stringify(hostPath)})`;
    if (!readonly && mount.image === undefined) {
      throw invalidField(`${field}.recursive_read_only`, `recursive read-only mount conflicts with RW mount ${where}`);
    }
    if (!features.recursiveReadOnlyMounts) {
      const why = 'runtime handler does not support recursive read-only mounts';
      throw invalidField(`${field}.recursive_read_only`, `${why} ${where}`);
    }
    if (propagation !== MountPropagation.PROPAGATION_PRIVATE) {
      const why = `recursive read-only mount needs private propagation, got ${JSON.stringify(propagationName(propagation))}`;
      throw invalidField(`${field}.propagation`, `${why} ${where}`);
    }
  }
}

/**
 * Not for image volumes, although kubelet requests it for every mount of a pod with a user namespace: overlayfs does
 * not support it, and they are read-only.
 */
export function mapsIds({ image, uidMappings, gidMappings }: Mount): boolean {
  return image === undefined && uidMappings.length + gidMappings.length > 0;
}

function checkMappings(mount: Mount, field: string, features: HandlerFeatures): void {
  if (features.idmappedMounts) return;
  const mapped = mount.uidMappings.length > 0 ? 'uidMappings' : 'gidMappings';
  throw invalidField(`${field}.${mapped}`, 'runtime handler does not support idmapped mounts');
}

function propagationName(propagation: MountPropagation): string {
  return Object.entries(MountPropagation).find(([, value]) => value === propagation)?.[0] ?? '';
}
