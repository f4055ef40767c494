import { DEFAULT_PATH } from '../../base/default-path.ts';
import type { FileSystem } from '../../host/file-system.ts';

/** Returns `undefined` if no folder of the search path has the program. */
export function programPath(fs: Pick<FileSystem, 'stat'>, name: string): Promise<string | undefined> {
  return findFile(fs, DEFAULT_PATH.split(':'), name);
}

/** The path of the file in the first folder that has it. */
export async function findFile(
  fs: Pick<FileSystem, 'stat'>,
  folders: readonly string[],
  name: string,
): Promise<string | undefined> {
  for (const folder of folders) {
    const path = `${folder}/${name}`;
    if ((await fs.stat(path))?.kind === 'file') return path;
  }
  return undefined;
}
