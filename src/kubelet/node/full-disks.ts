import { sizeText } from '../../base/size-text.ts';
import { type FileSystem, FileSystemError, type FileSystemUsage } from '../../host/file-system.ts';

/** The smallest pod writes more than that, and file systems reserve a little space. */
const FULL_BYTES = 256 * 1024;
const FULL_INODES = 8;

/** One message for each file system of these directories that is full. */
export async function fullDisks(
  folders: readonly string[],
  fs: Pick<FileSystem, 'stat' | 'usage'>,
): Promise<readonly string[]> {
  const reasons = new Map<number, string>();
  for (const folder of folders) {
    const found = await fs.stat(folder);
    if (found === undefined || reasons.has(found.device)) continue;
    const reason = diskFullReason(folder, await usageIfExists(folder, fs));
    if (reason !== undefined) reasons.set(found.device, reason);
  }
  return [...reasons.values()];
}

export function diskFullReason(folder: string, usage: FileSystemUsage | undefined): string | undefined {
  // File systems without a size (a tmpfs without a limit, some network file systems) report zeros.
  if (usage === undefined || usage.capacityBytes === 0) return undefined;
  const { availableBytes, capacityBytes, inodes, inodesFree } = usage;
  if (availableBytes < FULL_BYTES) {
    return `the disk of ${folder} is full: ${sizeText(availableBytes)} of ${sizeText(capacityBytes)} are free`;
  }
  if (inodes > 0 && inodesFree < FULL_INODES) return `the disk of ${folder} is full: no more files fit into it`;
  return undefined;
}

async function usageIfExists(folder: string, fs: Pick<FileSystem, 'usage'>): Promise<FileSystemUsage | undefined> {
  try {
    return await fs.usage(folder);
  } catch (error) {
    if (error instanceof FileSystemError && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
