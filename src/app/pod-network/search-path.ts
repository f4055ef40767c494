import type { FileSystem } from '../../host/file-system.ts';

/** Debian's folders, whatever PATH the user has: after plain `su` it lacks the administrator's. */
export const SEARCH_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** `undefined` when no folder of the search path has it. */
export async function programPath(fs: Pick<FileSystem, 'stat'>, name: string): Promise<string | undefined> {
  for (const folder of SEARCH_PATH.split(':')) {
    const path = `${folder}/${name}`;
    if ((await fs.stat(path))?.kind === 'file') return path;
  }
  return undefined;
}
