import { visibleText } from '../base/visible-text.ts';
import type { LogLevel } from './verbosity.ts';

export interface LogRecord {
  readonly level: LogLevel;
  /** RFC 3339, UTC. */
  readonly time: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const COLOURS: Readonly<Record<LogLevel, string>> = { debug: '2', info: '36', warn: '33', error: '31' };

/** `10:47:29.123 W cannot start pod  pod=default/hello error="no such image"` */
export function humanLine({ level, time, message, fields }: LogRecord, coloured: boolean): string {
  const clock = /T([\d:.]+)/.exec(time)?.[1]?.slice(0, 12) ?? time;
  const letter = level.charAt(0).toUpperCase();
  const head = coloured ? `\u001b[${COLOURS[level]}m${letter}\u001b[0m` : letter;
  const pairs = Object.entries(fields).map(([name, value]) => `${name}=${fieldText(value)}`);
  return [`${clock} ${head} ${visibleText(message)}`, ...pairs.map(visibleText)].join(' ');
}

function fieldText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  return /^[\w./:@%+,-]+$/.test(value) ? value : JSON.stringify(value);
}
