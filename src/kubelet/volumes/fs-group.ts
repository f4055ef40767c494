import { inGroups } from '../../base/in-groups.ts';
import type { FileSystem } from '../../host/file-system.ts';

const READ_WRITE = 0o660;
const READ = 0o440;
const ENTER_AND_KEEP_GROUP = 0o2110;
/** As many entries of a folder at a time. */
const AT_ONCE = 32;

/**
 * Gives everything below `path` to a group: it may read, and write unless the volume is read-only; what is made in a
 * folder later belongs to it too. Folders come after what is in them, so a tree whose root is done is done as a whole.
 */
export async function giveToGroup(
  fs: FileSystem,
  path: string,
  group: number,
  access: 'read' | 'write' = 'write',
): Promise<void> {
  const found = await fs.lstat(path);
  if (!found) return;
  const isDirectory = found.kind === 'directory';
  if (isDirectory) {
    const entries = await fs.readDirectory(path);
    await inGroups(entries, AT_ONCE, ({ name }) => giveToGroup(fs, `${path}/${name}`, group, access));
  }
  await fs.changeOwner(path, found.uid, group);
  if (found.kind === 'symlink') return; // its mode would be that of the file it points to
  const rights = access === 'read' ? READ : READ_WRITE;
  await fs.changeMode(path, found.mode | rights | (isDirectory ? ENTER_AND_KEEP_GROUP : 0));
}
