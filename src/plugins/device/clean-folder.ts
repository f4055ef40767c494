import type { FileSystem } from '../../host/file-system.ts';

/**
 * Creates the folder of device plugins, and removes the sockets in it: plugins notice that, and register again. Other files
 * stay.
 */
export async function cleanPluginFolder(folder: string, fs: FileSystem): Promise<void> {
  await fs.makeDirectory(folder, 0o750);
  for (const { name } of await fs.readDirectory(folder)) {
    const path = `${folder}/${name}`;
    if ((await fs.stat(path))?.kind === 'socket') await fs.remove(path);
  }
}
