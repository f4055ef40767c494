import type { MountEntry } from '../../mounts.ts';

/** Reads /proc/PID/mountinfo (proc_pid_mountinfo(5)); lines that do not have its shape are left out. */
export function parseMountinfo(text: string): MountEntry[] {
  return text.split('\n').flatMap((line) => {
    const entry = parseLine(line);
    return entry ? [entry] : [];
  });
}

/**
 * `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`: any number of optional fields
 * stands before the lone hyphen.
 */
function parseLine(line: string): MountEntry | undefined {
  const fields = line.split(' ');
  const hyphen = fields.indexOf('-', 6);
  const [target, options] = fields.slice(4, 6);
  const [type, source, superOptions] = fields.slice(hyphen + 1);
  if (hyphen === -1 || target === undefined || options === undefined) return undefined;
  if (type === undefined || source === undefined || superOptions === undefined) return undefined;
  // A mount may be read-only by itself, or because its whole file system is.
  const readOnly = [options, superOptions].some((list) => list.split(',').includes('ro'));
  return { source: unescapeOctal(source), target: unescapeOctal(target), type, readOnly };
}

/** The kernel writes space, tab, line end and backslash as `\040`; other bytes stand as they are. */
function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
