import { type FileSystem, FileSystemError, isOutOfSpace } from '../../host/file-system.ts';
import { MountError, type Mounts } from '../../host/mounts.ts';
import type { LayerFormat } from './storage-layout.ts';
import type { WhiteoutFormat } from './unpack-layer.ts';

/** How containers get their root filesystems on this machine. */
export interface StorageDriver {
  readonly format: LayerFormat;
  readonly whiteouts: WhiteoutFormat;
  /** Options of every overlay mount with an upper directory. */
  readonly overlay: { readonly userXattr: boolean; readonly volatile: boolean };
}

const TRUSTED = 'trusted.overlay.opaque';
const USER = 'user.overlay.opaque';

export const NATIVE: StorageDriver = {
  format: 'native',
  whiteouts: { kind: 'list' },
  overlay: { userXattr: false, volatile: false },
};

/**
 * Best first. `volatile` skips the sync of the whole file system at unmount, which would delay the end of containers.
 */
const OVERLAYS: readonly StorageDriver[] = [
  overlayDriver({ format: 'overlay', opaqueXattr: TRUSTED, volatile: true }),
  overlayDriver({ format: 'overlay', opaqueXattr: TRUSTED, volatile: false }),
  overlayDriver({ format: 'overlay-user', opaqueXattr: USER, volatile: true }),
  overlayDriver({ format: 'overlay-user', opaqueXattr: USER, volatile: false }),
];

interface OverlayKind {
  readonly format: 'overlay' | 'overlay-user';
  readonly opaqueXattr: string;
  readonly volatile: boolean;
}

function overlayDriver({ format, opaqueXattr, volatile }: OverlayKind): StorageDriver {
  const userXattr = format === 'overlay-user';
  return { format, whiteouts: { kind: 'overlay', opaqueXattr }, overlay: { userXattr, volatile } };
}

/**
 * Selects the driver for existing layers if a full disk does not allow a probe. Without `volatile`, which is optional.
 */
export function driverForExistingLayers(formats: readonly string[]): StorageDriver | undefined {
  return [...OVERLAYS.filter(({ overlay }) => !overlay.volatile), NATIVE].find(({ format }) =>
    formats.includes(format),
  );
}

/**
 * Probes with real mounts in an empty directory on the file system of the layers: the kernel's version does not show what works.
 * Rejects if there is no space for it.
 */
export async function probeDriver(
  { fs, mounts }: { readonly fs: FileSystem; readonly mounts: Mounts },
  folder: string,
): Promise<StorageDriver> {
  for (const driver of OVERLAYS) {
    if (await works({ fs, mounts }, driver, folder)) return driver;
  }
  return NATIVE;
}

async function works(
  { fs, mounts }: { readonly fs: FileSystem; readonly mounts: Mounts },
  { whiteouts, overlay }: StorageDriver,
  folder: string,
): Promise<boolean> {
  const [lower, upper, work, target] = ['lower', 'upper', 'work', 'target'].map((name) => `${folder}/${name}`);
  if (!lower || !upper || !work || !target) return false;
  try {
    for (const each of [lower, upper, work, target]) await fs.makeDirectory(each);
    if (whiteouts.kind === 'overlay') {
      await using writer = await fs.writeTree(lower);
      await writer.setXattr('', whiteouts.opaqueXattr, new TextEncoder().encode('y'));
    }
    await mounts.mountOverlay({ target, lower: [lower], upper: { folder: upper, work }, ...overlay });
    await mounts.unmount(target);
    return true;
  } catch (error) {
    // Not an answer: if it counted as one, images would seem to be missing until the next start.
    if (!(error instanceof MountError || error instanceof FileSystemError) || isOutOfSpace(error)) throw error;
    return false;
  } finally {
    await fs.removeTree(folder);
  }
}
