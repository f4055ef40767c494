import type { TestContext } from 'node:test';
import type { FileSystem } from '../../../src/host/file-system.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';
import { linuxMounts } from '../../../src/host/linux/mount/linux-mounts.ts';
import type { Mounts } from '../../../src/host/mounts.ts';
import { temporaryFolder } from './temporary-folder.ts';

export interface MountsWorld {
  readonly fs: FileSystem;
  readonly mounts: Mounts;
  /** A folder in which everything is unmounted after the test. */
  readonly root: string;
}

export async function linuxMountsWorld(t: TestContext): Promise<MountsWorld> {
  const root = await temporaryFolder(t, async (folder) => {
    const ours = (await linuxMounts.list()).filter(({ target }) => target.startsWith(`${folder}/`));
    for (const { target } of ours.reverse()) await linuxMounts.unmount(target, { lazy: true });
  });
  return { fs: linuxFileSystem, mounts: linuxMounts, root };
}
