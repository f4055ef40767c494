import type { FileSystem } from '../../host/file-system.ts';

const READ_WRITE = 0o660;
const READ = 0o440;
const ENTER_AND_KEEP_GROUP = 0o2110;

/**
 * Gives the tree below `path` to a group: it may read, and write unless `access` is `read`. Files that are created
 * later belong to the group too. Directories are changed after their content, so a tree whose root is done is done
 * completely.
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
