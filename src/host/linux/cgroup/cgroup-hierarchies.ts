import { dirname } from 'node:path';
import type { MountEntry } from '../../mounts.ts';

/**
 * Folders directly below `root` in which a hierarchy of cgroups is mounted now. A folder alone is none: who unmounts a
 * hierarchy leaves one, and a cgroup that is made there is a folder on a disk. `mounts`: oldest first.
 */
export function cgroupHierarchies(root: string, mounts: readonly MountEntry[]): readonly string[] {
  const below = mounts.filter(({ target }) => dirname(target) === root);
  const topmost = new Map(below.map(({ target, type }) => [target, type]));
  return [...topmost].flatMap(([target, type]) => (type === 'cgroup' || type === 'cgroup2' ? [target] : []));
}
