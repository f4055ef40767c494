import type { MountEntry, Propagation } from '../../mounts.ts';

/** Parses /proc/PID/mountinfo (proc_pid_mountinfo(5)); malformed lines are skipped. */
export function parseMountinfo(text: string): MountEntry[] {
  return text.split('\n').flatMap((line) => {
    const entry = parseLine(line);
    return entry ? [entry] : [];
  });
}

/**
 * `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`: any number of optional fields precedes
 * the hyphen.
 */
function parseLine(line: string): MountEntry | undefined {
  const fields = line.split(' ');
  const hyphen = fields.indexOf('-', 6);
  const [device, root, target, options] = fields.slice(2, 6);
  const [type, source, superOptions] = fields.slice(hyphen + 1);
  if (hyphen === -1 || device === undefined || root === undefined) return undefined;
  if (target === undefined || options === undefined) return undefined;
  if (type === undefined || source === undefined || superOptions === undefined) return undefined;
  // Either the mount or its whole filesystem may be read-only.
  const readOnly = [options, superOptions].some((list) => list.split(',').includes('ro'));
  return {
    source: unescapeOctal(source),
    target: unescapeOctal(target),
    type,
    readOnly,
    device,
    root: unescapeOctal(root),
    propagation: propagationOf(fields.slice(6, hyphen)),
  };
}

/** The options of the topmost mount at a resolved path: `rw`, `nosuid`, `relatime`. */
export function mountOptionsAt(text: string, target: string): readonly string[] {
  const lines = text.split('\n').map((line) => line.split(' '));
  const last = lines.findLast((fields) => unescapeOctal(fields[4] ?? '') === target);
  return last?.[5]?.split(',') ?? [];
}

/** A mount that is both shared and a slave propagates in both directions. */
function propagationOf(optional: readonly string[]): Propagation {
  if (optional.some((field) => field.startsWith('shared:'))) return 'shared';
  return optional.some((field) => field.startsWith('master:')) ? 'slave' : 'private';
}

/** The kernel escapes space, tab, newline and backslash as `\040`; other bytes are not escaped. */
function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
