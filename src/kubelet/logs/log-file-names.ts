/** `0.log.20060102-150405`: a log that was rotated, and when. */
const ROTATED = /^\.(\d{8}-\d{6})(\.gz|\.tmp)?$/;

export interface RotatedLog {
  readonly name: string;
  /** `20060102-150405`: their order is that of the logs. */
  readonly stamp: string;
  readonly form: 'plain' | 'compressed' | 'temporary';
}

/** What became of the log `name` earlier, oldest first; other files in its folder are none of our business. */
export function rotatedLogs(name: string, folder: readonly string[]): RotatedLog[] {
  return folder
    .filter((each) => each.startsWith(name))
    .map((each) => ({ each, match: ROTATED.exec(each.slice(name.length)) }))
    .flatMap(({ each, match }) => (match ? [{ name: each, stamp: match[1] ?? '', form: formOf(match[2]) }] : []))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function formOf(suffix: string | undefined): RotatedLog['form'] {
  if (suffix === '.gz') return 'compressed';
  return suffix === '.tmp' ? 'temporary' : 'plain';
}

/**
 * Those that hold lines of their own. A temporary was left by a compression that did not end; a log beside its own
 * compressed form is a copy, for that form has its name only since it was complete.
 */
export function logsInUse(logs: readonly RotatedLog[]): RotatedLog[] {
  const names = new Set(logs.map(({ name }) => name));
  return logs.filter(({ name, form }) => form === 'compressed' || (form === 'plain' && !names.has(`${name}.gz`)));
}
