import { readFile } from 'node:fs/promises';
import { type MountEntry, MountError, type MountRequest, type Mounts } from '../mounts.ts';
import { errnoCode } from './errno-code.ts';
import { mountCalls } from './mount-calls.ts';
import { parseMountinfo } from './mountinfo.ts';

const MNT_DETACH = 2;
/** A link at the target is not followed. */
const UMOUNT_NOFOLLOW = 8;

/** The mount table of this process's mount namespace. */
export const linuxMounts: Mounts = { mount, unmount, list };

/** Loading the foreign function interface takes a while, and many commands never mount. */
function loadLibc() {
  return import('./libc.ts');
}

async function mount(request: MountRequest): Promise<void> {
  const { target } = request;
  const libc = await loadLibc();
  for (const [index, call] of mountCalls(request).entries()) {
    try {
      await libc.mount(call.source, call.target, call.type, call.flags, call.data);
    } catch (error) {
      // The first call made a mount that is not what was asked for; a remount made none.
      if (index > 0 && !request.flags?.includes('remount')) await libc.umount2(target, UMOUNT_NOFOLLOW | MNT_DETACH);
      throw new MountError(errnoCode(error) ?? 'EIO', 'mount', target, { cause: error });
    }
  }
}

async function unmount(target: string, { lazy = false }: { readonly lazy?: boolean } = {}): Promise<void> {
  const libc = await loadLibc();
  try {
    await libc.umount2(target, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0));
  } catch (error) {
    const code = errnoCode(error) ?? 'EIO';
    if (code === 'ENOENT') return;
    // EINVAL: no mount point, or one that may not be unmounted. Only the mount table tells them apart.
    if (code === 'EINVAL' && !(await list()).some((entry) => entry.target === target)) return;
    throw new MountError(code, 'unmount', target, { cause: error });
  }
}

async function list(): Promise<readonly MountEntry[]> {
  return parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8'));
}
