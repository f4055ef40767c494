import { type FileSystem, FileSystemError } from '../../host/file-system.ts';

/**
 * Yields after each change in the directory, whether it exists yet or not: until it does, the nearest parent is
 * watched. Yields once when the watch starts, for earlier changes. Ends when the signal aborts.
 */
export async function* watchDirectory(fs: FileSystem, folder: string, signal: AbortSignal): AsyncGenerator<void> {
  while (!signal.aborted) {
    const watched = await nearestDirectory(fs, folder);
    try {
      for await (const _ of fs.watch(watched, signal)) {
        yield;
        if (watched !== folder && (await nearestDirectory(fs, folder)) !== watched) break;
      }
    } catch (error) {
      if (!(error instanceof FileSystemError) || error.code !== 'ENOENT') throw error;
      // The directory was removed together with its contents.
      yield;
    }
  }
}

async function nearestDirectory(fs: FileSystem, folder: string): Promise<string> {
  for (let watched = folder; watched !== ''; watched = watched.slice(0, watched.lastIndexOf('/'))) {
    if ((await fs.stat(watched))?.kind === 'directory') return watched;
  }
  return '/';
}
