import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';

/**
 * Mount points below a folder, oldest first, spelled as the folder is given. The mount table itself knows no links:
 * `/var/lib/kubelet` may be one.
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

/** Groups of mount points, none of which carries another of its group or of a later one. Each unmount takes a while. */
export function innermostFirst(mountPoints: readonly string[]): readonly (readonly string[])[] {
  const inner = mountPoints.filter((path) => !mountPoints.some((other) => other.startsWith(`${path}/`)));
  const outer = mountPoints.filter((path) => !inner.includes(path));
  return inner.length === 0 ? [] : [inner, ...innermostFirst(outer)];
}
