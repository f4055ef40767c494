import { type FSWatcher, watch as nodeWatch, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { ChangeSignal } from '../../../base/change-signal.ts';
import { FileSystemError } from '../../file-system.ts';
import { errnoCode } from '../sys/errno-code.ts';

/** What is read of a watched folder whenever something in it has changed. */
export interface FolderReader<T> {
  /** Since it was last asked; `undefined`: nothing. */
  take(): T | undefined;
  close(): void;
}

/** `file` is absent where the whole folder is watched. */
export type OpenFolder<T> = (folder: string, file: string | undefined) => FolderReader<T>;

export async function* watchPath(path: string, signal: AbortSignal): AsyncGenerator<void, void, void> {
  for await (const _ of followPath(path, () => UNREAD, signal)) yield;
}

const UNREAD: FolderReader<never> = { take: () => undefined, close() {} };

/**
 * inotify by way of Node.js. A file is watched through its folder: inotify follows the inode, so a watch on the file
 * itself would see nothing more once a new file is renamed over it.
 */
export async function* followPath<T>(
  path: string,
  openFolder: OpenFolder<T>,
  signal: AbortSignal,
): AsyncGenerator<T | undefined, void, void> {
  if (signal.aborted) return;
  const isFolder = (await statOf(path, path)).isDirectory();
  const folder = isFolder ? path : dirname(path);
  const { dev, ino } = await statOf(folder, path);

  const bell = new ChangeSignal();
  const name = basename(path);
  const reader = attempt(path, () => openFolder(folder, isFolder ? undefined : name));
  const watcher = watchFolder(folder, path, reader, (changed) => {
    // Without a name: the kernel dropped events, or the folder itself is concerned.
    if (isFolder || changed === null || changed === name || changed === basename(folder)) bell.notify();
  });
  watcher.on('error', (error) => bell.fail(asWatchError(error, path)));
  const onAbort = (): void => {
    bell.close();
    watcher.close(); // not left to the caller, who may never ask again
    reader.close();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort(); // it may have aborted while we looked
  try {
    bell.notify();
    while (await bell.next()) {
      const failure = await checkFolder(folder, path, { dev, ino });
      if (signal.aborted) return;
      const taken = reader.take();
      // A folder that is gone has lost its files first.
      if (!failure || taken !== undefined) yield taken;
      if (failure) throw failure;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    watcher.close();
    reader.close();
  }
}

function watchFolder(
  folder: string,
  path: string,
  reader: FolderReader<unknown>,
  onChange: (name: string | null) => void,
): FSWatcher {
  try {
    return nodeWatch(folder, (_, name) => onChange(name));
  } catch (error) {
    reader.close();
    throw asWatchError(error, path);
  }
}

/** Where another folder has the old name, the kernel still watches the one that is gone. */
async function checkFolder(
  folder: string,
  path: string,
  watched: Pick<Stats, 'dev' | 'ino'>,
): Promise<FileSystemError | undefined> {
  try {
    const { dev, ino } = await stat(folder);
    return dev === watched.dev && ino === watched.ino ? undefined : new FileSystemError('ENOENT', 'watch', path);
  } catch (error) {
    return asWatchError(error, path);
  }
}

async function statOf(path: string, watched: string): Promise<Stats> {
  try {
    return await stat(path);
  } catch (error) {
    throw asWatchError(error, watched);
  }
}

function attempt<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw asWatchError(error, path);
  }
}

function asWatchError(error: unknown, path: string): FileSystemError {
  return new FileSystemError(errnoCode(error) ?? 'EIO', 'watch', path, { cause: error });
}
