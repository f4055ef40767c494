import { type FileSystem, FileSystemError } from '../../host/file-system.ts';

/**
 * Yields after anything in the folder changed, whether it exists yet or not: until it does, the nearest folder above is
 * watched. Yields once as soon as it watches, for what happened before. Ends when the signal aborts.
 */
export async function* followFolder(fs: FileSystem, folder: string, signal: AbortSignal): AsyncGenerator<void> {
  while (!signal.aborted) {
    const place = await nearestFolder(fs, folder);
    try {
      for await (const _ of fs.watch(place, signal)) {
        yield;
        if (place !== folder && (await nearestFolder(fs, folder)) !== place) break;
      }
    } catch (error) {
      if (!(error instanceof FileSystemError) || error.code !== 'ENOENT') throw error;
      // It went away: what was in it is gone too.
      yield;
    }
  }
}

async function nearestFolder(fs: FileSystem, folder: string): Promise<string> {
  for (let place = folder; place !== ''; place = place.slice(0, place.lastIndexOf('/'))) {
    if ((await fs.stat(place))?.kind === 'directory') return place;
  }
  return '/';
}
