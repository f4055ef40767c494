import { fileNameLength } from '../../../host/file-name.ts';
import { TarError } from './tar-header.ts';

/** What the kernel takes of one name, and of a path. */
const MOST_NAME = 255;
export const MOST_PATH = 4095;

/** The path below the root without dots, as GNU tar and Docker read it. */
export function insidePath(name: string): string {
  const names: string[] = [];
  for (const part of name.split('/')) {
    if (part === '..' && names.pop() === undefined) throw new TarError(`${name}: leads out of the archive`);
    if (part !== '' && part !== '.' && part !== '..') names.push(part);
  }
  if (name.includes('\0')) throw new TarError(`${JSON.stringify(name)}: not a file name`);
  const path = names.join('/');
  // A character of a string takes three bytes at most.
  if (path.length > MOST_NAME / 3) refuseLong(path, names);
  return path;
}

function refuseLong(path: string, names: readonly string[]): void {
  const length = fileNameLength(path);
  if (length > MOST_PATH) throw new TarError(`${path.slice(0, MOST_NAME)}…: a path of ${length} bytes`);
  const long = names.find((name) => fileNameLength(name) > MOST_NAME);
  if (long !== undefined) throw new TarError(`${long.slice(0, MOST_NAME)}…: a name of ${fileNameLength(long)} bytes`);
}
