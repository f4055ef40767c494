import { DEFAULT_PATH } from '../../base/default-path.ts';
import type { FileSystem } from '../../host/file-system.ts';

/** `undefined` when no folder of the search path has it. */
export async function programPath(fs: Pick<FileSystem, 'stat'>, name: string): Promise<string | undefined> {
  for (const folder of DEFAULT_PATH.split(':')) {
    const path = `${folder}/${name}`;
    if ((await fs.stat(path))?.kind === 'file') return path;
  }
  return undefined;
}
