import { closeSync, constants, mkdtempSync, openSync, rmdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { MountError, type MountIdMap, type OverlayRequest } from '../../mounts.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { attachMount, mapMountIds, mount, openTreeClone, umount2 } from '../sys/mount-calls.ts';
import { openUserNamespace } from './user-namespace.ts';

const MNT_DETACH = 2;
const MS_RDONLY = 1;
/** mount(2) copies at most one page, with the terminating zero. */
const MAX_OPTIONS_BYTES = 4095;
const OPEN_FOLDER = 0o10000000 | constants.O_DIRECTORY;

export async function mountOverlay(request: OverlayRequest): Promise<void> {
  const { target, lower, idMap } = request;
  try {
    if (idMap) await mountMapped(request, idMap);
    else await mountLayers(request, lower);
  } catch (error) {
    if (error instanceof MountError) throw error;
    throw new MountError(errnoCode(error) ?? 'EIO', 'mount', target, { cause: error });
  }
}

/** If the paths are too long together, descriptors replace them; the kernel resolves paths only during the mount. */
async function mountLayers(request: OverlayRequest, lower: readonly string[]): Promise<void> {
  const options = optionsOf(request, lower);
  if (Buffer.byteLength(options) <= MAX_OPTIONS_BYTES) return mountWith(request, options);
  const folders = lower.map((path) => openSync(path, OPEN_FOLDER));
  try {
    const short = folders.map((fd) => `/proc/self/fd/${fd}`);
    await mountWith(request, optionsOf(request, short));
  } finally {
    for (const fd of folders) closeSync(fd);
  }
}

async function mountWith({ target, upper }: OverlayRequest, options: string): Promise<void> {
  await mount.async('overlay', target, 'overlay', upper ? 0 : MS_RDONLY, options);
}

/**
 * One mapped mount of the layers' parent folder serves all of them. It is needed only until overlayfs has cloned it; kernels
 * before 6.15 require it to be attached until then.
 */
async function mountMapped(request: OverlayRequest, idMap: MountIdMap): Promise<void> {
  const [parent, ...others] = new Set(request.lower.map((path) => dirname(path)));
  if (parent === undefined || others.length > 0) throw new MountError('EINVAL', 'mount', request.target);
  const clone = openTreeClone(parent);
  try {
    const namespace = await openUserNamespace(idMap);
    try {
      mapMountIds(clone, namespace);
    } finally {
      closeSync(namespace);
    }
    const below = (folder: string) => request.lower.map((path) => join(folder, basename(path)));
    try {
      await mountLayers(request, below(`/proc/self/fd/${clone}`));
    } catch (error) {
      const { scratch } = request;
      if (errnoCode(error) !== 'EINVAL' || scratch === undefined) throw error;
      await whileAttached(scratch, clone, (folder) => mountLayers(request, below(folder)));
    }
  } finally {
    closeSync(clone);
  }
}

async function whileAttached(scratch: string, clone: number, work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(scratch, 'layers-'));
  try {
    attachMount(clone, folder);
    try {
      await work(folder);
    } finally {
      await umount2.async(folder, MNT_DETACH);
    }
  } finally {
    rmdirSync(folder);
  }
}

function optionsOf({ upper, userXattr, volatile }: OverlayRequest, lower: readonly string[]): string {
  return [
    `lowerdir=${lower.map(escaped).join(':')}`,
    ...(upper ? [`upperdir=${escaped(upper.folder)}`, `workdir=${escaped(upper.work)}`] : []),
    ...(userXattr ? ['userxattr'] : []),
    ...(volatile ? ['volatile'] : []),
  ].join(',');
}

/** A colon separates layers, a comma options. */
function escaped(path: string): string {
  return path.replace(/[\\:,]/g, '\\$&');
}
