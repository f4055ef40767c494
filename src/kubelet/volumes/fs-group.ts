import type { FileSystem } from '../../host/file-system.ts';

const READ_WRITE = 0o660;
const ENTER_AND_KEEP_GROUP = 0o2110;

/**
 * Gives everything below `path` to a group: it may read and write, and what is made in a folder later belongs to it
 * too. Folders come after what is in them, so a tree whose root is done is done as a whole.
 */
export async function giveToGroup(fs: FileSystem, path: string, group: number): Promise<void> {
  const found = await fs.lstat(path);
  if (!found) return;
  const isDirectory = found.kind === 'directory';
  if (isDirectory) {
    for (const { name } of await fs.readDirectory(path)) await giveToGroup(fs, `${path}/${name}`, group);
  }
  await fs.changeOwner(path, found.uid, group);
  if (found.kind === 'symlink') return; // its mode would be that of the file it points to
  await fs.changeMode(path, found.mode | READ_WRITE | (isDirectory ? ENTER_AND_KEEP_GROUP : 0));
}
