import { watch as nodeWatch, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { ChangeBell } from '../../../base/change-bell.ts';
import { FileSystemError } from '../../file-system.ts';
import { errnoCode } from '../sys/errno-code.ts';

/**
 * inotify by way of Node.js. A file is watched through its folder: inotify follows the inode, so a watch on the file
 * itself would see nothing more once a new file is renamed over it.
 */
export async function* watchPath(path: string, signal: AbortSignal): AsyncGenerator<void, void, void> {
  if (signal.aborted) return;
  const isFolder = (await statOf(path, path)).isDirectory();
  const folder = isFolder ? path : dirname(path);
  const { dev, ino } = await statOf(folder, path);

  const bell = new ChangeBell();
  const name = basename(path);
  const watcher = open(folder, path, (changed) => {
    // Without a name: the kernel dropped events, or the folder itself is concerned.
    if (isFolder || changed === null || changed === name || changed === basename(folder)) bell.ring();
  });
  watcher.on('error', (error) => bell.fail(asWatchError(error, path)));
  const onAbort = (): void => {
    bell.silence();
    watcher.close(); // not left to the reader, who may never ask again
  };
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort(); // it may have aborted while we looked
  try {
    bell.ring();
    while (await bell.heard()) {
      const now = await statOf(folder, path);
      // Another folder under the old name: the kernel still watches the one that is gone.
      if (now.dev !== dev || now.ino !== ino) throw new FileSystemError('ENOENT', 'watch', path);
      if (signal.aborted) return;
      yield;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    watcher.close();
  }
}

function open(folder: string, path: string, onChange: (name: string | null) => void) {
  try {
    return nodeWatch(folder, (_, name) => onChange(name));
  } catch (error) {
    throw asWatchError(error, path);
  }
}

async function statOf(path: string, watched: string): Promise<Stats> {
  try {
    return await stat(path);
  } catch (error) {
    throw asWatchError(error, watched);
  }
}

function asWatchError(error: unknown, path: string): FileSystemError {
  return new FileSystemError(errnoCode(error) ?? 'EIO', 'watch', path, { cause: error });
}
