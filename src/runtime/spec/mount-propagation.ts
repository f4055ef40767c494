import type { MountSource } from './spec-facts.ts';

/** Returns the propagation of the mount that contains `path`, from the text of /proc/self/mountinfo. */
export function mountPropagation(path: string, mountinfo: string): NonNullable<MountSource['propagation']> {
  let holder = { target: '', options: '' };
  for (const line of mountinfo.split('\n')) {
    const [fields = ''] = line.split(' - ');
    const [, , , , escaped, , ...options] = fields.split(' ');
    if (escaped === undefined) continue;
    const target = unescaped(escaped);
    // Of two mounts at one path the later covers the earlier.
    if (isBelow(path, target) && target.length >= holder.target.length) holder = { target, options: options.join(' ') };
  }
  if (/(^| )shared:/.test(holder.options)) return 'shared';
  return /(^| )master:/.test(holder.options) ? 'slave' : 'private';
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

/** The kernel writes blanks and similar characters as `\040`. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
