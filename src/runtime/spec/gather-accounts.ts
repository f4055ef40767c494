import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { parseGroups, parsePasswd } from './account-files.ts';
import { resolveInRoot } from './resolve-in-root.ts';
import type { SpecRequest } from './spec-request.ts';
import type { Accounts } from './user.ts';

/** Larger than any real file: an image must not fill the memory. */
const MAX_BYTES = 4 * 2 ** 20;
const MISSING: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR']);

/** Size of the cache. */
const MAX_IMAGES = 100;

/**
 * The accounts of images, cached. A container's root filesystem equals the image's until the container has run, so the
 * result of one is valid for all others.
 */
export class ImageAccounts {
  readonly #fs: FileSystem;
  readonly #known = new Map<string, Accounts>();

  constructor(fs: FileSystem) {
    this.#fs = fs;
  }

  async get({ imageId, rootfs }: Pick<SpecRequest, 'imageId' | 'rootfs'>): Promise<Accounts> {
    const known = this.#known.get(imageId);
    if (known) return known;
    const accounts = await gatherAccounts(rootfs, this.#fs);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= MAX_IMAGES && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(imageId, accounts);
    return accounts;
  }
}

/** Reads the accounts of the image that is mounted at `rootfs`. Links cannot lead out of it. */
export async function gatherAccounts(rootfs: string, fs: FileSystem): Promise<Accounts> {
  const [passwd, group] = await Promise.all([
    readBeneath(rootfs, 'etc/passwd', fs),
    readBeneath(rootfs, 'etc/group', fs),
  ]);
  return { users: parsePasswd(passwd), groups: parseGroups(group) };
}

async function readBeneath(rootfs: string, path: string, fs: FileSystem): Promise<string> {
  try {
    await using file = await fs.openFileBeneath(rootfs, path).catch(async (error: unknown) => {
      // An absolute link refers to the image's root; on the host it leads out of it, or nowhere.
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
