import { visibleText } from '../base/visible-text.ts';
import type { LogLevel } from './verbosity.ts';

export interface LogRecord {
  readonly level: LogLevel;
  /** RFC 3339, UTC. */
  readonly time: string;
  readonly message: string;
  /** The part of the program that logs. */
  readonly module?: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const COLOURS: Readonly<Record<LogLevel, string>> = { debug: '2', info: '36', warn: '33', error: '31' };

/** `10:47:29.123 W cannot start pod  pod=default/hello error="no such image"` */
export function humanLine({ level, time, message, fields }: LogRecord, coloured: boolean): string {
  const clock = /T([\d:.]+)/.exec(time)?.[1]?.slice(0, 12) ?? time;
  const letter = level.charAt(0).toUpperCase();
  const head = coloured ? `\u001b[${COLOURS[level]}m${letter}\u001b[0m` : letter;
  return `${clock} ${head} ${messageText(message, fields)}`;
}

/** Priorities of syslog(3). */
const PRIORITIES: Readonly<Record<LogLevel, number>> = { debug: 7, info: 6, warn: 4, error: 3 };

/** `<4>cannot start pod pod=default/hello`: the journal takes the priority off, and has a time of its own. See sd-daemon(3). */
export function journalLine({ level, message, fields }: Omit<LogRecord, 'time'>): string {
  return `<${PRIORITIES[level]}>${messageText(message, fields)}`;
}

function messageText(message: string, fields: LogRecord['fields']): string {
  const pairs = Object.entries(fields).map(([name, value]) => `${name}=${fieldText(value)}`);
  return [message, ...pairs].map(visibleText).join(' ');
}

function fieldText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  return /^[\w./:@%+,-]+$/.test(value) ? value : JSON.stringify(value);
}
