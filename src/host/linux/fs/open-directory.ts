import type { Stats } from 'node:fs';
import { type FileStat, FileSystemError, type FolderName, type OpenDirectory } from '../../file-system.ts';
import { openBeneath } from './beneath.ts';
import { entryName, readEntries } from './folder-entries.ts';

export async function openDirectoryBeneath(
  root: string,
  path: string,
  asFileStat: (stats: Stats) => FileStat,
): Promise<OpenDirectory> {
  const handle = await openBeneath(root, path);
  try {
    const stats = await handle.stat();
    if (!stats.isDirectory()) throw new FileSystemError('ENOTDIR', 'open', `${root}/${path}`);
  } catch (error) {
    await handle.close();
    throw error;
  }
  return {
    stat: async () => asFileStat(await handle.stat()),
    entries: () => namesOf(handle.fd),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

async function* namesOf(folder: number): AsyncGenerator<readonly FolderName[], void, void> {
  for await (const batch of readEntries(folder)) {
    yield batch.map(({ name, isFolder }) => ({ name: entryName(name), isFolder }));
  }
}
