import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { parseGroups, parsePasswd } from './account-files.ts';
import { resolveInRoot } from './resolve-in-root.ts';
import type { Accounts } from './user.ts';

/** More than any account file has: an image must not fill our memory. */
const MAX_BYTES = 4 * 2 ** 20;
const MISSING: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR']);

/** The accounts of the image that is mounted at `rootfs`. No link of it leads out of it. */
export async function gatherAccounts(rootfs: string, fs: FileSystem): Promise<Accounts> {
  const [passwd, group] = await Promise.all([
    textBeneath(rootfs, 'etc/passwd', fs),
    textBeneath(rootfs, 'etc/group', fs),
  ]);
  return { users: parsePasswd(passwd), groups: parseGroups(group) };
}

async function textBeneath(rootfs: string, path: string, fs: FileSystem): Promise<string> {
  try {
    await using file = await fs.openFileBeneath(rootfs, path).catch(async (error: unknown) => {
      // An absolute link means the image's own root; seen from ours it leads out of it, or nowhere.
      const resolved = await resolveInRoot(fs, rootfs, path);
      if (resolved === path) throw error;
      return fs.openFileBeneath(rootfs, resolved);
    });
    return new TextDecoder().decode(await file.read(0, Math.min(MAX_BYTES, (await file.stat()).size)));
  } catch (error) {
    if (error instanceof FileSystemError && MISSING.has(error.code)) return '';
    throw error;
  }
}
