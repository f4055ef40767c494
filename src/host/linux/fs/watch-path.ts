import { type FSWatcher, watch as nodeWatch, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { ChangeSignal } from '../../../base/change-signal.ts';
import { FileSystemError } from '../../file-system.ts';
import { errnoCode } from '../sys/errno-code.ts';

/** Reads events of a watched folder after a change. */
export interface FolderReader<T> {
  /** The events since the last call; `undefined`: none. */
  take(): T | undefined;
  close(): void;
}

/** `file` is absent when the whole folder is watched. */
export type OpenFolder<T> = (folder: string, file: string | undefined) => FolderReader<T>;

export async function* watchPath(path: string, signal: AbortSignal): AsyncGenerator<void, void, void> {
  for await (const _ of watchFolderOf(path, () => UNREAD, signal)) yield;
}

const UNREAD: FolderReader<never> = { take: () => undefined, close() {} };

/**
 * inotify through Node.js. A file is watched through its folder: inotify follows the inode, so a watch on the file itself
 * would report nothing once a new file is renamed over it.
 */
export async function* watchFolderOf<T>(
  path: string,
  openFolder: OpenFolder<T>,
  signal: AbortSignal,
): AsyncGenerator<T | undefined, void, void> {
  if (signal.aborted) return;
  const isFolder = (await statOf(path, path)).isDirectory();
  const folder = isFolder ? path : dirname(path);
  const { dev, ino } = await statOf(folder, path);

  const changes = new ChangeSignal();
  const name = basename(path);
  const reader = attempt(path, () => openFolder(folder, isFolder ? undefined : name));
  const watcher = watchFolder(folder, path, reader, (changed) => {
    // Without a name: the kernel dropped events, or the event is about the folder itself.
    if (isFolder || changed === null || changed === name || changed === basename(folder)) changes.notify();
  });
  watcher.on('error', (error) => changes.fail(asWatchError(error, path)));
  const onAbort = (): void => {
    changes.close();
    watcher.close(); // the consumer may never call `next` again
    reader.close();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort(); // it may have aborted during stat(2)
  try {
    changes.notify();
    while (await changes.next()) {
      const failure = await checkFolder(folder, path, { dev, ino });
      if (signal.aborted) return;
      const taken = reader.take();
      // The files of a removed folder were removed first.
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

/** After a folder is replaced by another one of the same name, the kernel still watches the old one. */
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
