import { dirname } from 'node:path';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { LogCursor } from './log-cursor.ts';
import { type LogLine, LogLineJoiner, logTimeMs } from './log-lines.ts';

export interface ReadLogsOptions {
  /** Goes on with what is written later, until the signal aborts or `ended` resolves. */
  readonly follow: boolean;
  /** Only the last so many lines of what is there at the start. */
  readonly tailLines?: number | undefined;
  /** Only lines from this wall-clock time on. */
  readonly sinceMs?: number | undefined;
  /** Resolves when the container has ended: what it wrote is then read to its end, and the lines end too. */
  readonly ended?: Promise<void> | undefined;
}

/**
 * The lines of one container's log file. A follower waits for a file that is not there yet and goes on in the new file
 * after a rotation; without `follow` a missing file has no lines. Aborting ends the lines without an error.
 */
export async function* readLogs(
  { fs }: { readonly fs: FileSystem },
  path: string,
  options: ReadLogsOptions,
  signal: AbortSignal,
): AsyncGenerator<LogLine, void, void> {
  const { sinceMs = Number.NEGATIVE_INFINITY, tailLines } = options;
  const cursor = new LogCursor(fs, path, tailLines);
  const joiner = new LogLineJoiner();
  for await (const _ of options.follow ? looks(fs, dirname(path), options.ended, signal) : [undefined]) {
    for await (const entry of cursor.entries()) {
      if (signal.aborted) return;
      const line = joiner.add(entry);
      if (line !== undefined && logTimeMs(line) >= sinceMs) yield line;
    }
  }
  if (signal.aborted) return;
  const last = cursor.unfinishedEntry();
  const finished = last && joiner.add({ ...last, partial: false });
  for (const line of [...(finished ? [finished] : []), ...joiner.rest()]) {
    if (logTimeMs(line) >= sinceMs) yield line;
  }
}

/** Yields whenever the files in `folder` may have changed, and a last time once `ended` has resolved. */
async function* looks(
  fs: FileSystem,
  folder: string,
  ended: Promise<void> | undefined,
  signal: AbortSignal,
): AsyncGenerator<void, void, void> {
  const over = new AbortController();
  void ended?.then(() => over.abort());
  yield* changes(fs, folder, AbortSignal.any([signal, over.signal]));
  if (!signal.aborted) yield;
}

/** Watches `folder`, or what comes nearest to it while it is not there. */
async function* changes(fs: FileSystem, folder: string, stop: AbortSignal): AsyncGenerator<void, void, void> {
  while (!stop.aborted) {
    const { existing, next } = await nearestFolder(fs, folder);
    try {
      for await (const _ of fs.watch(existing, stop)) {
        yield;
        if (next !== undefined && (await fs.stat(next)) !== undefined) break;
      }
    } catch (error) {
      // Removed between two looks: what is nearest now is found anew.
      if (!(error instanceof FileSystemError && error.code === 'ENOENT')) throw error;
    }
  }
}

/** The deepest folder on the way to `folder` that exists, and the one below it that does not. */
async function nearestFolder(
  fs: FileSystem,
  folder: string,
): Promise<{ readonly existing: string; readonly next: string | undefined }> {
  let next: string | undefined;
  let existing = folder;
  while (existing !== '/' && (await fs.stat(existing)) === undefined) {
    next = existing;
    existing = dirname(existing);
  }
  return { existing, next };
}
