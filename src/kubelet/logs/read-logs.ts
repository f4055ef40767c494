import { dirname } from 'node:path';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import type { LogEntry } from './log-entries.ts';
import { LogFollower } from './log-follower.ts';
import { type LogLine, LogLineJoiner, logTimeMs } from './log-lines.ts';
import { OpenLog } from './open-log.ts';
import type { Tail } from './tail-offset.ts';

export interface ReadLogsOptions {
  /** Continues with later lines until the signal aborts or `ended` resolves. */
  readonly follow: boolean;
  /** Starts at the tail of the current file. As in kubelet, rotated files are not read. */
  readonly tail?: Tail | undefined;
  /** Only lines since this wall-clock time. */
  readonly sinceMs?: number | undefined;
  /** Resolves when the container has exited: the log is then read to its end. */
  readonly ended?: Promise<void> | undefined;
}

/**
 * Reads the lines of a container's log, a block at a time. With `follow` it waits for a missing file and continues in
 * the new file after a rotation. Without `follow` a missing file has no lines, and lines written meanwhile are not
 * returned. Aborting ends the lines without an error.
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

/** Entries of the current file. A rotation meanwhile has no effect. */
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

/** Yields when files in `folder` may have changed, and once more after `ended` has resolved. */
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

/** Watches `folder`, or its nearest existing ancestor. */
async function* changes(fs: FileSystem, folder: string, stop: AbortSignal): AsyncGenerator<void, void, void> {
  while (!stop.aborted) {
    const { existing, next } = await nearestFolder(fs, folder);
    try {
      for await (const _ of fs.watch(existing, stop)) {
        yield;
        if (next !== undefined && (await fs.stat(next)) !== undefined) break;
      }
    } catch (error) {
      // Removed before the watch started: find the nearest ancestor again.
      if (!(error instanceof FileSystemError && error.code === 'ENOENT')) throw error;
    }
  }
}

/** The deepest existing ancestor of `folder`, and the missing directory below it. */
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
