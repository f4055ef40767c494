const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** A time span as kubectl shows ages: two units while the smaller one still matters. */
export function humanAge(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  if (seconds < 10 * MINUTE) return inUnits(seconds, [MINUTE, 'm'], [1, 's']);
  if (seconds < 3 * HOUR) return inUnits(seconds, [MINUTE, 'm']);
  if (seconds < 8 * HOUR) return inUnits(seconds, [HOUR, 'h'], [MINUTE, 'm']);
  if (seconds < 2 * DAY) return inUnits(seconds, [HOUR, 'h']);
  if (seconds < 8 * DAY) return inUnits(seconds, [DAY, 'd'], [HOUR, 'h']);
  if (seconds < 2 * YEAR) return inUnits(seconds, [DAY, 'd']);
  if (seconds < 8 * YEAR) return inUnits(seconds, [YEAR, 'y'], [DAY, 'd']);
  return inUnits(seconds, [YEAR, 'y']);
}

type Unit = readonly [seconds: number, letter: string];

function inUnits(seconds: number, [big, bigLetter]: Unit, small?: Unit): string {
  const rest = small ? Math.floor((seconds % big) / small[0]) : 0;
  return `${Math.floor(seconds / big)}${bigLetter}${rest > 0 ? `${rest}${small?.[1]}` : ''}`;
}
