import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';

/**
 * Mount points below a directory, oldest first, spelled like `folder`. The mount table has resolved paths, but
 * `/var/lib/kubelet` may be a symlink.
 */
export async function mountPointsBelow(
  folder: string,
  { fs, mounts }: { readonly fs: FileSystem; readonly mounts: Mounts },
): Promise<readonly string[]> {
  if (!(await fs.stat(folder))) return [];
  const real = `${await fs.realPath(folder)}/`;
  const below = (await mounts.list()).filter(({ target }) => target.startsWith(real));
  return below.map(({ target }) => `${folder}/${target.slice(real.length)}`);
}

/**
 * Groups of mount points that can be unmounted one after the other: no mount point contains another one of its own or a
 * later group. The mounts of a group are unmounted at once, because each unmount takes a while.
 */
export function innermostFirst(mountPoints: readonly string[]): readonly (readonly string[])[] {
  const inner = mountPoints.filter((path) => !mountPoints.some((other) => other.startsWith(`${path}/`)));
  const outer = mountPoints.filter((path) => !inner.includes(path));
  return inner.length === 0 ? [] : [inner, ...innermostFirst(outer)];
}
