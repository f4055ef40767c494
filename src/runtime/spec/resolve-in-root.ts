import { posix } from 'node:path';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';

const MAX_LINKS = 40;

/**
 * Resolves `path` as if `root` were the root directory; the result is relative to it and has no links. Only for trees
 * that do not change; the caller must ensure that opening the result stays below the root.
 */
export async function resolveInRoot(fs: FileSystem, root: string, path: string): Promise<string> {
  const waiting = pathSteps(path);
  const done: string[] = [];
  let links = 0;
  for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
    if (step === '..') {
      done.pop();
      continue;
    }
    const here = posix.join(root, ...done, step);
    if ((await fs.lstat(here))?.kind !== 'symlink') {
      done.push(step);
      continue;
    }
    links += 1;
    if (links > MAX_LINKS) throw new FileSystemError('ELOOP', 'resolve', here);
    const target = await fs.readLink(here);
    if (target.startsWith('/')) done.length = 0;
    waiting.unshift(...pathSteps(target));
  }
  return done.join('/');
}

function pathSteps(path: string): string[] {
  return path.split('/').filter((step) => step !== '' && step !== '.');
}
