import { posix } from 'node:path';
import { errorText } from '../base/error-text.ts';
import type { Log } from '../base/log.ts';
import type { FileSystem } from '../host/file-system.ts';
import type { MountEntry, Mounts } from '../host/mounts.ts';
import { StartupError } from './embedded/startup-error.ts';

export interface SharedRootDeps {
  readonly fs: FileSystem;
  readonly mounts: Mounts;
  readonly log: Log;
}

/**
 * Makes the agent's root directory a shared mount, as kubelet does at start: it is bound to itself unless the mount that
 * contains it is shared already. `mountPropagation` of its volumes depends on it. Idempotent. Rejects with a
 * `StartupError`.
 */
export async function shareRootDir(rootDir: string, { fs, mounts, log }: SharedRootDeps): Promise<void> {
  try {
    await fs.makeDirectory(rootDir, 0o750);
    const path = await fs.realPath(rootDir);
    const entries = await mounts.list();
    if (mountOf(path, entries)?.propagation === 'shared') return;
    const below = targetsBelow(path, entries);
    if (below.length > 0) {
      // A bind mount would hide them, and volumes could not be unmounted any more.
      const message =
        'cannot make the root directory a shared mount while there are mounts in it: no mount propagation';
      return log.warn(message, { rootDir, mounts: below });
    }
    await mounts.mount({ source: path, target: path, flags: ['bind', 'rshared'] });
  } catch (error) {
    throw new StartupError(`cannot make the root directory ${rootDir} a shared mount: ${errorText(error)}`, {
      cause: error,
    });
  }
}

/**
 * Unmounts a root directory that was bound to itself, by this process or a previous one, unless directories or mounts of
 * pods are left: their containers would lose the propagation. Resolves to whether no such mount is left. Idempotent.
 */
export async function unshareRootDir(rootDir: string, { fs, mounts, log }: SharedRootDeps): Promise<boolean> {
  try {
    const path = await fs.realPath(rootDir);
    const entries = await mounts.list();
    if (!isSharedSelfBind(path, entries)) return true;
    const pods = `${path}/pods`;
    const hasPods = (await fs.stat(pods)) !== undefined && (await fs.readDirectory(pods)).length > 0;
    if (hasPods || targetsBelow(path, entries).length > 0) return false;
    await mounts.unmount(path, { lazy: true }); // the file that locks the directory may be open in it
    return true;
  } catch (error) {
    log.warn('cannot unmount the root directory', { rootDir, error });
    return false;
  }
}

/** The mount that shows `path`; of several at one target the last. */
function mountOf(path: string, entries: readonly MountEntry[]): MountEntry | undefined {
  const holders = entries.filter(({ target }) => target === path || isBelow(path, target));
  const longest = Math.max(...holders.map(({ target }) => target.length));
  return holders.findLast(({ target }) => target.length === longest);
}

function isSharedSelfBind(path: string, entries: readonly MountEntry[]): boolean {
  const top = mountOf(path, entries);
  if (top?.target !== path || top.propagation !== 'shared') return false;
  const under = mountOf(
    path,
    entries.filter((entry) => entry !== top),
  );
  if (under?.device !== top.device) return false;
  return posix.join(under.root, posix.relative(under.target, path)) === top.root;
}

function targetsBelow(path: string, entries: readonly MountEntry[]): readonly string[] {
  return entries.map(({ target }) => target).filter((target) => isBelow(target, path));
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder === '/' ? folder : `${folder}/`);
}
