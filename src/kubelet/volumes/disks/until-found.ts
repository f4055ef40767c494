import { dirname } from 'node:path';
import type { Clock } from '../../../host/clock.ts';
import { type FileSystem, FileSystemError } from '../../../host/file-system.ts';

/**
 * Waits for a device: calls `find` again after each change of the folder, or of the next one above it that exists. Resolves
 * to `undefined` when the time has passed.
 */
export async function untilFound<T>(
  find: () => Promise<T | undefined>,
  { folder, withinMs }: { readonly folder: string; readonly withinMs: number },
  { fs, clock }: { readonly fs: FileSystem; readonly clock: Clock },
  signal: AbortSignal,
): Promise<T | undefined> {
  const deadline = clock.deadline(withinMs);
  const either = AbortSignal.any([signal, deadline]);
  while (!either.aborted) {
    const watched = await existing(folder, fs);
    try {
      for await (const _ of fs.watch(watched, either)) {
        const found = await find();
        if (found !== undefined) return found;
        if (watched !== folder && (await fs.lstat(folder))) break;
      }
    } catch (error) {
      // The folder was removed.
      if (!(error instanceof FileSystemError && error.code === 'ENOENT')) throw error;
    }
  }
  signal.throwIfAborted();
  return find();
}

async function existing(folder: string, fs: FileSystem): Promise<string> {
  return (await fs.lstat(folder)) ? folder : existing(dirname(folder), fs);
}
