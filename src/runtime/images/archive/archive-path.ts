import { fileNameLength } from '../../../host/file-name.ts';
import { TarError } from './tar-header.ts';

/** The kernel's limits (NAME_MAX, PATH_MAX). */
const MAX_NAME_BYTES = 255;
export const MAX_PATH_BYTES = 4095;

/** Returns the cleaned path below the root, as GNU tar and Docker resolve it. Throws `TarError` if it leads outside. */
export function cleanArchivePath(name: string): string {
  const names: string[] = [];
  for (const part of name.split('/')) {
    if (part === '..' && names.pop() === undefined) throw new TarError(`${name}: leads out of the archive`);
    if (part !== '' && part !== '.' && part !== '..') names.push(part);
  }
  if (name.includes('\0')) throw new TarError(`${JSON.stringify(name)}: not a file name`);
  const path = names.join('/');
  // One UTF-16 code unit takes at most three bytes.
  if (path.length > MAX_NAME_BYTES / 3) checkLength(path, names);
  return path;
}

function checkLength(path: string, names: readonly string[]): void {
  const length = fileNameLength(path);
  if (length > MAX_PATH_BYTES) throw new TarError(`${path.slice(0, MAX_NAME_BYTES)}…: a path of ${length} bytes`);
  const long = names.find((name) => fileNameLength(name) > MAX_NAME_BYTES);
  if (long !== undefined)
    throw new TarError(`${long.slice(0, MAX_NAME_BYTES)}…: a name of ${fileNameLength(long)} bytes`);
}
