import { posix } from 'node:path';
import { slicePath } from '../../host/systemd.ts';

/** Of the names of scopes: `cri-nodelet-<id>.scope`. */
const PREFIX = 'cri-nodelet';

/** The `cgroupsPath` of a container in a scope of its own, in the form of crun and runc. */
export function scopePath(slice: string, id: string): string {
  return `${slice}:${PREFIX}:${id}`;
}

/** Whether systemd manages the container's cgroup. */
export function isScopePath(cgroupsPath: string): boolean {
  return !cgroupsPath.startsWith('/') && cgroupsPath.split(':').length === 3;
}

/** The path of a container's cgroup in the cgroup file system. */
export function cgroupFolder(cgroupsPath: string): string {
  if (!isScopePath(cgroupsPath)) return posix.join('/', cgroupsPath);
  const [slice = '', prefix, id] = cgroupsPath.split(':');
  return `${slicePath(slice)}/${prefix}-${id}.scope`;
}
