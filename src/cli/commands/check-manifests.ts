import { resolve } from 'node:path/posix';
import type { FileSystem } from '../../host/file-system.ts';
import { allDesired, mergeSnapshot, NO_PODS } from '../../kubelet/sources/desired-pods.ts';
import type { PodSource, SourceSnapshot } from '../../kubelet/sources/pod-source.ts';
import { CommandError, EXIT } from '../options/command-error.ts';

/** Absolute paths of what the user named; throws a `CommandError` for what is not there. */
export async function manifestPaths(paths: readonly string[], fs: Pick<FileSystem, 'stat'>): Promise<string[]> {
  const absolute: string[] = [];
  for (const path of paths) {
    if (path === '-') throw new CommandError('standard input cannot be watched; name a file', EXIT.badInput);
    const full = resolve(path);
    if ((await fs.stat(full)) === undefined) {
      throw new CommandError(`cannot read ${path}: no such file`, EXIT.badInput);
    }
    absolute.push(full);
  }
  return absolute;
}

/** The first set of desired pods of a source, so that errors are reported before anything starts. */
export async function firstDesiredPods(source: PodSource): Promise<SourceSnapshot> {
  const { desired, errors } = mergeSnapshot(NO_PODS, source.name, await firstSnapshot(source));
  return { pods: allDesired(desired), errors };
}

async function firstSnapshot(source: PodSource): Promise<SourceSnapshot> {
  const enough = new AbortController();
  try {
    for await (const snapshot of source.snapshots(enough.signal)) return snapshot;
  } finally {
    enough.abort();
  }
  return { pods: [], errors: [] };
}
