import { dirname } from 'node:path';
import type { MountEntry } from '../../mounts.ts';

/**
 * The folders directly below `root` with a mounted cgroup hierarchy. The folder alone does not count: unmounting a hierarchy
 * leaves it, and a cgroup created in it would be a plain folder. `mounts`: oldest first.
 */
export function cgroupHierarchies(root: string, mounts: readonly MountEntry[]): readonly string[] {
  const below = mounts.filter(({ target }) => dirname(target) === root);
  const topmost = new Map(below.map(({ target, type }) => [target, type]));
  return [...topmost].flatMap(([target, type]) => (type === 'cgroup' || type === 'cgroup2' ? [target] : []));
}
