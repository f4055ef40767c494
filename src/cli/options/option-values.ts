import { resolve } from 'node:path/posix';
import { InvalidArgumentError } from 'commander';
import { DurationError, parseDurationMs } from '../../base/duration.ts';

/** Readers of option values; commander names the option when one throws. */

export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** Milliseconds, from `5m`, `1h30m`, `90s`. */
export function duration(text: string): number {
  try {
    const ms = parseDurationMs(text);
    if (ms > 0) return ms;
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
  }
  throw new InvalidArgumentError('It must be a duration such as 30s, 5m or 1h30m.');
}

/** All lines are -1, as for kubectl. */
export const ALL_LINES = -1;

export function tailLines(text: string): number {
  return text === String(ALL_LINES) ? ALL_LINES : wholeNumber(text);
}

export function ipv4Cidr(text: string): string {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/.exec(text);
  const [, a, b, c, d, bits] = (match ?? []).map(Number);
  const isValid = match && [a, b, c, d].every((part = 256) => part < 256) && (bits ?? 0) >= 8 && (bits ?? 33) <= 28;
  if (!isValid) throw new InvalidArgumentError('It must be an IPv4 network between /8 and /28, such as 10.87.0.0/16.');
  return text;
}

/** Absolute, whatever folder the command was called in. */
export function folder(text: string): string {
  return resolve(text);
}

/** Several, separated by colons. */
export function folders(text: string): readonly string[] {
  return text.split(':').map(folder);
}
