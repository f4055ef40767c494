import { posix } from 'node:path';
import { invalidField } from '../../cri/field-error.ts';
import type { PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import type { CgroupDriver } from '../../host/cgroups.ts';
import { scopePath } from '../oci/scope-path.ts';

/** The slice of scopes whose sandbox has no parent, as with runc. */
const DEFAULT_SLICE = 'system.slice';
const CGROUPFS_PARENT = 'nodelet';

/**
 * `linux.cgroupsPath` of a container: a path for cgroupfs, whatever the parent is called; `slice:prefix:id` for systemd,
 * where the container gets the scope `cri-nodelet-<id>.scope` in its pod's slice.
 */
export function cgroupPath({ linux }: PodSandboxConfig, id: string, driver: CgroupDriver): string {
  const parent = linux?.cgroupParent ?? '';
  if (driver === 'cgroupfs') return posix.join('/', parent || CGROUPFS_PARENT, id);
  const slice = parent === '' ? DEFAULT_SLICE : posix.basename(parent);
  if (!slice.endsWith('.slice')) {
    const reason = `${JSON.stringify(parent)} is not a slice, but the cgroup driver of the runtime is systemd`;
    throw invalidField('linux.cgroup_parent', reason);
  }
  return scopePath(slice, id);
}
