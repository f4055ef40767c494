import { dirname } from 'node:path/posix';
import type { DirectoryEntry, FileSystem } from '../../host/file-system.ts';

/** Deeper trees are not ours. */
const MAX_DEPTH = 8;

/** For each missing path, the topmost folder that has to be created for it. */
export async function findMissingFolders(
  paths: readonly string[],
  fs: Pick<FileSystem, 'lstat'>,
): Promise<readonly string[]> {
  const missing = new Set<string>();
  for (const path of paths) {
    let uppermost: string | undefined;
    for (let each = path; (await fs.lstat(each)) === undefined; each = dirname(each)) uppermost = each;
    if (uppermost !== undefined) missing.add(uppermost);
  }
  return [...missing];
}

/** Removes folders below which there is nothing but folders. A file anywhere keeps all of its tree. Never rejects. */
export async function removeEmptyFolders(
  paths: readonly string[],
  fs: Pick<FileSystem, 'readDirectory' | 'remove'>,
): Promise<void> {
  for (const path of paths) {
    try {
      const folders = await emptyTree(path, fs, MAX_DEPTH);
      for (const folder of folders ?? []) await fs.remove(folder);
    } catch {
      // It is gone already, or it is no longer empty and stays.
    }
  }
}

/** The folders of a tree, each before the one that it is in; `undefined` where there is more than folders. */
async function emptyTree(
  path: string,
  fs: Pick<FileSystem, 'readDirectory'>,
  depth: number,
): Promise<readonly string[] | undefined> {
  const entries: readonly DirectoryEntry[] = await fs.readDirectory(path);
  if (depth === 0 || entries.some(({ kind }) => kind !== 'directory')) return undefined;
  const folders: string[] = [];
  for (const { name } of entries) {
    const below = await emptyTree(`${path}/${name}`, fs, depth - 1);
    if (below === undefined) return undefined;
    folders.push(...below);
  }
  return [...folders, path];
}
