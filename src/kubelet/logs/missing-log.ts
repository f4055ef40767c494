import { dirname } from 'node:path';
import type { FileSystem } from '../../host/file-system.ts';

/** kubelet's message for a missing log; `undefined` when the log exists. */
export async function missingLogMessage(path: string, fs: FileSystem): Promise<string | undefined> {
  let missing: string | undefined;
  for (let at = path; at !== dirname(at) && (await fs.stat(at)) === undefined; at = dirname(at)) missing = at;
  if (missing === undefined) return undefined;
  const quoted = JSON.stringify(path);
  return `failed to try resolving symlinks in path ${quoted}: lstat ${missing}: no such file or directory`;
}
