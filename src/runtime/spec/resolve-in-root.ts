import { posix } from 'node:path';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';

const MAX_LINKS = 40;

/**
 * Where `path` leads for somebody whose root is `root`: relative to it, without links. Only for trees that hold still; who
 * opens the result has to make sure himself that it stays below.
 */
export async function resolveInRoot(fs: FileSystem, root: string, path: string): Promise<string> {
  const waiting = stepsOf(path);
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
    waiting.unshift(...stepsOf(target));
  }
  return done.join('/');
}

function stepsOf(path: string): string[] {
  return path.split('/').filter((step) => step !== '' && step !== '.');
}
