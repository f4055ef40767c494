import type { FileSystem } from '../../host/file-system.ts';

const DIRECTORY_MODE = 0o750;

/** Creates a directory below kubelet's root directory with all its missing parents, each with kubelet's mode. */
export async function makeNodeDirectory(
  path: string,
  { fs, settings: { rootDir } }: { readonly fs: FileSystem; readonly settings: { readonly rootDir: string } },
): Promise<void> {
  await fs.makeDirectory(rootDir, DIRECTORY_MODE);
  await fs.makeDirectoryBeneath(rootDir, path.slice(rootDir.length + 1), DIRECTORY_MODE);
}
