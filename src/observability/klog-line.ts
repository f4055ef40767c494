import { goQuote } from '../base/go/go-quote.ts';
import { parseTime } from '../base/rfc3339.ts';
import type { LogRecord } from './human-line.ts';
import { verbosityOf } from './verbosity.ts';

/** In the place of the source file of a record without a module. */
const PROGRAM = 'nodelet';

/** `W1118 19:45:56.123456    1234 server:0] "cannot start pod" pod="default/hello" err="no such image"` */
export function klogLine({ level, time, message, fields, module = PROGRAM }: LogRecord, pid: number): string {
  const [, month, day, clock] = /^\d+-(\d\d)-(\d\d)T([\d:.]+)/.exec(time) ?? [];
  const head = `${level === 'debug' ? 'I' : level.charAt(0).toUpperCase()}${month}${day} ${clock}`;
  const pairs = Object.entries(fields).map(([name, value]) => ` ${keyOf(name)}=${valueText(value)}`);
  return `${head} ${String(pid).padStart(7)} ${module}:0] ${goQuote(message)}${pairs.join('')}`;
}

/** `{"ts":1794739649123,"logger":"server","msg":"cannot start pod","v":0,"pod":"default/hello","err":"no such image"}` */
export function klogJsonLine({ level, time, message, fields, module }: LogRecord): string {
  const micros = Number(/\.(\d{6})Z$/.exec(time)?.[1] ?? 0) % 1000;
  const own = Object.fromEntries(Object.entries(fields).map(([name, value]) => [keyOf(name), value]));
  return JSON.stringify({
    ts: parseTime(time) + micros / 1000,
    ...(module !== undefined && { logger: module }),
    msg: message,
    // As in Kubernetes, errors have no verbosity.
    ...(level !== 'error' && { v: verbosityOf(level) }),
    ...own,
  });
}

function keyOf(name: string): string {
  return name === 'error' ? 'err' : name;
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return goQuote(value);
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
}
