import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';
import type { VolumeCapability } from '../generated/csi-v1.ts';
import type { CsiEffects } from './fake-csi-driver.ts';

export interface MountCsiDeps {
  readonly fs: Pick<FileSystem, 'makeDirectory' | 'stat' | 'writeFile' | 'remove'>;
  readonly mounts: Pick<Mounts, 'mount' | 'unmount'>;
  /** The folder of the volumes' data: one folder per volume, one file per block volume. */
  readonly dataDir: string;
}

/**
 * Mounts volumes as a driver does: the data of a volume is bind mounted at its staging path, and at each target. A block
 * volume is a file. Data outlives the mounts.
 */
export function mountCsiVolumes({ fs, mounts, dataDir }: MountCsiDeps): CsiEffects {
  const dataOf = async (volumeId: string, capability: VolumeCapability | undefined): Promise<string> => {
    const path = `${dataDir}/${encodeURIComponent(volumeId)}`;
    if (!capability?.block) {
      await fs.makeDirectory(path, 0o777);
      return path;
    }
    await fs.makeDirectory(dataDir);
    if ((await fs.stat(`${path}.img`)) === undefined) await fs.writeFile(`${path}.img`, new Uint8Array(1024 ** 2));
    return `${path}.img`;
  };
  const bind = async (source: string, target: string, readOnly: boolean): Promise<void> => {
    const isFolder = (await fs.stat(source))?.kind === 'directory';
    if (isFolder) await fs.makeDirectory(target, 0o750);
    else if ((await fs.stat(target)) === undefined) await fs.writeFile(target, '', { mode: 0o660 });
    await mounts.mount({ source, target, flags: readOnly ? ['bind', 'readOnly'] : ['bind'] });
  };
  return {
    async stage({ volumeId, stagingTargetPath, volumeCapability }) {
      // A block volume is not mounted at its staging path: the folder is the driver's own.
      if (volumeCapability?.block) return;
      await bind(await dataOf(volumeId, volumeCapability), stagingTargetPath, false);
    },
    async unstage({ stagingTargetPath }) {
      await mounts.unmount(stagingTargetPath);
    },
    async publish({ volumeId, targetPath, volumeCapability, readonly }) {
      await bind(await dataOf(volumeId, volumeCapability), targetPath, readonly);
    },
    async unpublish({ targetPath }) {
      await mounts.unmount(targetPath);
      await fs.remove(targetPath);
    },
  };
}
