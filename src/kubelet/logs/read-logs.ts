import { dirname } from 'node:path';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import type { LogEntry } from './log-entries.ts';
import { LogFollower } from './log-follower.ts';
import { type LogLine, LogLineJoiner, logTimeMs } from './log-lines.ts';
import { OpenLog } from './open-log.ts';
import type { Tail } from './tail-offset.ts';

export interface ReadLogsOptions {
  /** Goes on with what is written later, until the signal aborts or `ended` resolves. */
  readonly follow: boolean;
  /** Only the end of what is in the current file at the start: rotated files are not looked at, as in kubelet. */
  readonly tail?: Tail | undefined;
  /** Only lines from this wall-clock time on. */
  readonly sinceMs?: number | undefined;
  /** Resolves when the container has ended: what it wrote is then read to its end, and the lines end too. */
  readonly ended?: Promise<void> | undefined;
}

/**
 * The lines of one container's log file, a block at a time. A follower waits for a file that is not there yet and goes on
 * in the new file after a rotation; without `follow` a missing file has no lines, and what is written meanwhile is left
 * out. Aborting ends the lines without an error.
 */
export async function* readLogs(
  { fs }: { readonly fs: FileSystem },
  path: string,
  options: ReadLogsOptions,
  signal: AbortSignal,
): AsyncGenerator<readonly LogLine[], void, void> {
  const { sinceMs } = options;
  const joiner = new LogLineJoiner();
  const batches = options.follow ? followedEntries(fs, path, options, signal) : existingEntries(fs, path, options);
  const isWanted = (line: LogLine): boolean => sinceMs === undefined || logTimeMs(line) >= sinceMs;
  for await (const entries of batches) {
    if (signal.aborted) return;
    const lines = entries.map((entry) => joiner.add(entry)).filter((line) => line !== undefined);
    const wanted = lines.filter(isWanted);
    if (wanted.length > 0) yield wanted;
  }
  if (signal.aborted) return;
  const rest = [...joiner.rest()].filter(isWanted);
  if (rest.length > 0) yield rest;
}

/** What is there now. A rotation meanwhile does not matter. */
async function* existingEntries(
  fs: FileSystem,
  path: string,
  { tail }: ReadLogsOptions,
): AsyncGenerator<readonly LogEntry[], void, void> {
  await using log = await OpenLog.open(fs, path);
  if (!log) return;
  if (tail) await log.skipTo(tail);
  yield* log.entries(log.stat.size);
  yield log.unfinished();
}

async function* followedEntries(
  fs: FileSystem,
  path: string,
  { tail, ended }: ReadLogsOptions,
  signal: AbortSignal,
): AsyncGenerator<readonly LogEntry[], void, void> {
  await using follower = new LogFollower(fs, path, tail);
  for await (const _ of changesUntilEnd(fs, dirname(path), ended, signal)) yield* follower.entries();
  yield follower.unfinished();
}

/** Yields whenever the files in `folder` may have changed, and a last time once `ended` has resolved. */
async function* changesUntilEnd(
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
