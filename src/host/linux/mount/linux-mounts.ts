import { lstat, mkdir, open, readFile, realpath, rmdir, stat, unlink } from 'node:fs/promises';
import { type MountEntry, MountError, type MountIdMap, type MountRequest, type Mounts } from '../../mounts.ts';
import { openBeneath } from '../fs/beneath.ts';
import { unlessMissing } from '../fs/unless-missing.ts';
import { mountOptionsAt, parseMountinfo } from '../proc/mountinfo.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { keepingAttributes, mountCalls } from './mount-calls.ts';

const MNT_DETACH = 2;
/** A link at the target is not followed. */
const UMOUNT_NOFOLLOW = 8;

/** The mount table of this process's mount namespace. */
export const linuxMounts: Mounts = {
  mount,
  bindBeneath,
  mountOverlay: async (request) => (await import('./mount-overlay.ts')).mountOverlay(request),
  bindMapped,
  unmount,
  list,
};

/** Loading the foreign function interface takes time, and many commands never mount. */
function loadMountCalls() {
  return import('../sys/mount-calls.ts');
}

async function mount(request: MountRequest): Promise<void> {
  const { target } = request;
  const calls = await loadMountCalls();
  for (const [index, each] of mountCalls(request).entries()) {
    try {
      const call = index > 0 ? keepingAttributes(each, await optionsAt(target)) : each;
      await calls.mount.async(call.source, call.target, call.type, call.flags, call.data);
    } catch (error) {
      // The first call created an incomplete mount; a remount created none.
      if (index > 0 && !request.flags?.includes('remount'))
        await calls.umount2.async(target, UMOUNT_NOFOLLOW | MNT_DETACH);
      throw new MountError(errnoCode(error) ?? 'EIO', 'mount', target, { cause: error });
    }
  }
}

async function optionsAt(target: string): Promise<readonly string[]> {
  return mountOptionsAt(await readFile('/proc/self/mountinfo', 'utf8'), await realpath(target));
}

async function bindBeneath(root: string, path: string, target: string): Promise<void> {
  try {
    await using source = await openBeneath(root, path);
    const wanted = await source.stat();
    const found = await unlessMissing(lstat(target));
    // The target of a bind mount has the device and inode of the source.
    if (found?.dev === wanted.dev && found.ino === wanted.ino) return;
    if (found) await unmount(target);
    await makeTarget(target, wanted.isDirectory());
    await mount({ source: `/proc/self/fd/${source.fd}`, target, flags: ['bind'] });
  } catch (error) {
    if (error instanceof MountError) throw error;
    throw new MountError(errnoCode(error) ?? 'EIO', 'mount', target, { cause: error });
  }
}

async function bindMapped(source: string, target: string, idMap: MountIdMap): Promise<void> {
  try {
    await makeTarget(target, (await stat(source)).isDirectory());
    await (await import('./attach-mapped.ts')).attachMapped(source, target, idMap);
  } catch (error) {
    throw new MountError(errnoCode(error) ?? 'EIO', 'mount', target, { cause: error });
  }
}

/** The target must be a folder or a file like the source. */
async function makeTarget(target: string, isDirectory: boolean): Promise<void> {
  const found = await unlessMissing(lstat(target));
  if (found?.isDirectory() === isDirectory) return;
  if (found) await (isDirectory ? unlink(target) : rmdir(target));
  if (isDirectory) await mkdir(target, 0o750);
  else await (await open(target, 'wx', 0o640)).close();
}

async function unmount(target: string, { lazy = false }: { readonly lazy?: boolean } = {}): Promise<void> {
  const calls = await loadMountCalls();
  try {
    await calls.umount2.async(target, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0));
  } catch (error) {
    const code = errnoCode(error) ?? 'EIO';
    if (code === 'ENOENT') return;
    // EINVAL: not a mount point, or one that may not be unmounted. Only the mount table distinguishes them.
    if (code === 'EINVAL' && !(await list()).some((entry) => entry.target === target)) return;
    throw new MountError(code, 'unmount', target, { cause: error });
  }
}

async function list(): Promise<readonly MountEntry[]> {
  return parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8'));
}
