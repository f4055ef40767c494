/** `0.log.20060102-150405`: a rotated log and its time. */
const ROTATED = /^\.(\d{8}-\d{6})(\.gz|\.tmp)?$/;

export interface RotatedLog {
  readonly name: string;
  /** `20060102-150405`; sorts in log order. */
  readonly stamp: string;
  readonly form: 'plain' | 'compressed' | 'temporary';
}

/** The rotated files of log `name`, oldest first; other files in the directory are ignored. */
export function rotatedLogs(name: string, folder: readonly string[]): RotatedLog[] {
  return folder
    .filter((each) => each.startsWith(name))
    .map((each) => ({ each, match: ROTATED.exec(each.slice(name.length)) }))
    .flatMap(({ each, match }) => (match ? [{ name: each, stamp: match[1] ?? '', form: rotatedForm(match[2]) }] : []))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function rotatedForm(suffix: string | undefined): RotatedLog['form'] {
  if (suffix === '.gz') return 'compressed';
  return suffix === '.tmp' ? 'temporary' : 'plain';
}

/**
 * The rotated logs that hold lines of their own. Temporary files are left by interrupted compressions. A plain log
 * beside its compressed form is a copy: the compressed form gets its name when it is complete.
 */
export function logsInUse(logs: readonly RotatedLog[]): RotatedLog[] {
  const names = new Set(logs.map(({ name }) => name));
  return logs.filter(({ name, form }) => form === 'compressed' || (form === 'plain' && !names.has(`${name}.gz`)));
}
