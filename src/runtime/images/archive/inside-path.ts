import { TarError } from './tar-header.ts';

/** The path below the root without dots, as GNU tar and Docker read it. */
export function insidePath(name: string): string {
  const names: string[] = [];
  for (const part of name.split('/')) {
    if (part === '..' && names.pop() === undefined) throw new TarError(`${name}: leads out of the archive`);
    if (part !== '' && part !== '.' && part !== '..') names.push(part);
  }
  if (name.includes('\0')) throw new TarError(`${JSON.stringify(name)}: not a file name`);
  return names.join('/');
}
