import { basename, dirname } from 'node:path';
import { errorText } from '../../../base/error-text.ts';
import type { FileSystem } from '../../../host/file-system.ts';
import type { MountEntry, Mounts } from '../../../host/mounts.ts';
import { CSI_PLUGIN } from './csi-volume.ts';

/** A folder of a volume, its mount point, and its `vol_data.json`. */
export interface MountFolder {
  readonly folder: string;
  readonly mount: string;
  readonly data: string;
}

interface Deps {
  readonly fs: FileSystem;
  readonly mounts: Mounts;
}

/** The mount table is asked rather than the path: stat(2) fails or blocks on the mount of a dead server. */
export async function isMounted(path: string, deps: Deps): Promise<boolean> {
  return (await mountsAt(path, deps)).length > 0;
}

/** Unmounts what a driver has left mounted there: it should have unmounted the path itself. */
export async function unmountAll(path: string, deps: Deps): Promise<void> {
  for (const { target } of await mountsAt(path, deps)) await deps.mounts.unmount(target);
}

/** The mount table has resolved paths, and the root directory may be a link. The mount itself is not touched. */
async function mountsAt(path: string, { fs, mounts }: Deps): Promise<readonly MountEntry[]> {
  const folder = dirname(path);
  if (!(await fs.stat(folder))) return [];
  const real = `${await fs.realPath(folder)}/${basename(path)}`;
  return (await mounts.list()).filter(({ target }) => target === real);
}

/** Removes the mount point, then `vol_data.json`, then the folder. A folder with a mount stays. */
export async function removeMountFolder(paths: MountFolder, deps: Deps): Promise<void> {
  if (await removeMountFiles(paths, deps)) await removeOne(paths.folder, 'delete volume path', deps);
}

/** The same without the folder. `false`: it has a mount, and nothing was removed. */
export async function removeMountFiles(paths: Omit<MountFolder, 'folder'>, deps: Deps): Promise<boolean> {
  if (await isMounted(paths.mount, deps)) return false;
  await removeMountPoint(paths, deps);
  await removeOne(paths.data, 'delete volume data file', deps);
  return true;
}

/** A driver should have removed it. Files in it are not the agent's to remove. */
export async function removeMountPoint({ mount }: Pick<MountFolder, 'mount'>, deps: Deps): Promise<void> {
  await removeOne(mount, 'remove dir', deps);
}

async function removeOne(path: string, what: string, { fs }: Deps): Promise<void> {
  await fs.remove(path).catch((error: unknown) => {
    throw new Error(`${CSI_PLUGIN}: failed to ${what} [${path}]: ${errorText(error)}`, { cause: error });
  });
}

/** Other mounts of what is mounted at the path: unstaging it would break them. */
export async function otherMountsOf(path: string, deps: Deps): Promise<readonly string[]> {
  const own = (await mountsAt(path, deps)).at(-1);
  if (!own) return [];
  // The same path may be visible below several mounts of the agent's root directory.
  const suffix = path.slice(Math.max(0, path.indexOf('/plugins/kubernetes.io/')));
  const same = (await deps.mounts.list()).filter(({ device, root }) => device === own.device && root === own.root);
  return same.map(({ target }) => target).filter((target) => !target.includes(suffix));
}
