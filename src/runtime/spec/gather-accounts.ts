import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { parseGroups, parsePasswd } from './account-files.ts';
import { resolveInRoot } from './resolve-in-root.ts';
import type { SpecRequest } from './spec-request.ts';
import type { Accounts } from './user.ts';

/** More than any account file has: an image must not fill our memory. */
const MAX_BYTES = 4 * 2 ** 20;
const MISSING: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR']);

/** As many images are remembered. */
const MOST_IMAGES = 100;

/**
 * The accounts of images. A container's root file system is the image's own until the container has run, so what was read
 * for one is true for all others.
 */
export class ImageAccounts {
  readonly #fs: FileSystem;
  readonly #known = new Map<string, Accounts>();

  constructor(fs: FileSystem) {
    this.#fs = fs;
  }

  async of({ imageId, rootfs }: Pick<SpecRequest, 'imageId' | 'rootfs'>): Promise<Accounts> {
    const known = this.#known.get(imageId);
    if (known) return known;
    const accounts = await gatherAccounts(rootfs, this.#fs);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= MOST_IMAGES && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(imageId, accounts);
    return accounts;
  }
}

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
