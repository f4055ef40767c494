/** Building blocks of plain sentences: durations, counts, quotes. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Longest quoted output of a program. */
const MAX_QUOTE = 300;

/** `350 ms`, `2.5 s`, `34 s`, `2 min 5 s`, `3 h 20 min`, `2 d 4 h`. */
export function durationText(ms: number): string {
  const span = Math.max(0, ms);
  if (Math.round(span) < SECOND) return `${Math.round(span)} ms`;
  if (span < 9.95 * SECOND) return `${Number((span / SECOND).toFixed(1))} s`;
  const seconds = Math.round(span / SECOND) * SECOND;
  if (seconds < 2 * MINUTE) return `${seconds / SECOND} s`;
  if (seconds < 2 * HOUR) return inUnits(seconds, [MINUTE, 'min'], [SECOND, 's']);
  if (seconds < 2 * DAY) return inUnits(seconds, [HOUR, 'h'], [MINUTE, 'min']);
  return inUnits(seconds, [DAY, 'd'], [HOUR, 'h']);
}

type Unit = readonly [ms: number, name: string];

function inUnits(span: number, [big, bigName]: Unit, [small, smallName]: Unit): string {
  const rest = Math.floor((span % big) / small);
  return `${Math.floor(span / big)} ${bigName}${rest > 0 ? ` ${rest} ${smallName}` : ''}`;
}

/** `for 12 s`. */
export function forText(sinceMs: number, nowMs: number): string {
  return `for ${wholeSeconds(nowMs - sinceMs)}`;
}

/** `12 s ago`, `just now`. */
export function agoText(atMs: number, nowMs: number): string {
  return nowMs - atMs < SECOND ? 'just now' : `${wholeSeconds(nowMs - atMs)} ago`;
}

/** `in 38 s`, `now`. */
export function inText(atMs: number, nowMs: number): string {
  return atMs - nowMs < SECOND / 2 ? 'now' : `in ${wholeSeconds(atMs - nowMs)}`;
}

/** Rounds to whole seconds: most times in a pod's status have no fractions either. */
function wholeSeconds(ms: number): string {
  return durationText(ms < SECOND ? ms : Math.round(ms / SECOND) * SECOND);
}

/** `once`, `twice`, `3 times`. */
export function timesText(count: number): string {
  if (count === 1) return 'once';
  return count === 2 ? 'twice' : `${count} times`;
}

/** `"out of disk"`, on one line and not too long. */
export function quoted(text: string): string {
  return `"${shortened(oneLine(text), MAX_QUOTE)}"`;
}

/** `: "out of disk"`; empty for a blank text. */
export function quotedSuffix(text: string | undefined): string {
  return text === undefined || oneLine(text) === '' ? '' : `: ${quoted(text)}`;
}

/** Cuts out the middle: an error begins with what was tried and ends with why it failed. */
export function shortened(text: string, length: number): string {
  if (text.length <= length) return text;
  const begin = Math.floor(length / 3);
  return `${text.slice(0, begin)}…${text.slice(begin + 1 - length)}`;
}

/** Returns the text with a capital at its start and one full stop at its end. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/[.\s]+$/, '')}.`;
}

/** `a`, `a and b`, `a, b and c`. */
export function listText(items: readonly string[]): string {
  if (items.length < 2) return items.join('');
  return `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
