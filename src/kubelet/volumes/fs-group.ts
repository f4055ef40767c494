import type { FileSystem } from '../../host/file-system.ts';

const READ_WRITE = 0o660;
const READ = 0o440;
const ENTER_AND_KEEP_GROUP = 0o2110;

/**
 * Gives everything below `path` to a group: it may read, and write unless the volume is read-only; what is made in a
 * folder later belongs to it too. Folders come after what is in them, so a tree whose root is done is done as a whole.
 */
export async function setVolumeOwnership(
  fs: FileSystem,
  path: string,
  group: number,
  access: 'read' | 'write' = 'write',
): Promise<void> {
  const fileMode = access === 'read' ? READ : READ_WRITE;
  await fs.setTreeGroup(path, { gid: group, fileMode, folderMode: fileMode | ENTER_AND_KEEP_GROUP });
}
