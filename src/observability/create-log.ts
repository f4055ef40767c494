import { pino } from 'pino';
import { formatMicroTime } from '../base/rfc3339.ts';
import type { Clock } from '../host/clock.ts';
import { humanLine, journalLine, type LogRecord } from './human-line.ts';
import { loggedFields } from './log-record.ts';
import { type LogLevel, levelOfVerbosity } from './verbosity.ts';

export interface LogOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** kubelet's `--v`. */
  readonly verbosity: number;
  /** `human` for a terminal, `journal` for systemd's journal, `json` (one record per line) for log collectors. */
  readonly format: 'human' | 'journal' | 'json';
  readonly coloured?: boolean;
  /** Gets whole lines, line feed included. */
  write(line: string): void;
}

type Write = (message: string, fields?: Readonly<Record<string, unknown>>) => void;

/** Creates the program's log. Secret values are redacted, errors are shown with their causes. */
export function createLog(options: LogOptions): Readonly<Record<LogLevel, Write>> {
  const { clock, format, coloured = false } = options;
  const level = levelOfVerbosity(options.verbosity);
  const logger = pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${formatMicroTime(clock.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line) => options.write(format === 'json' ? line : asText(line, format, coloured)) },
  );
  const writer =
    (at: LogLevel): Write =>
    (message, fields = {}) => {
      if (logger.isLevelEnabled(at)) logger[at]({ fields: loggedFields(fields) }, message);
    };
  return { debug: writer('debug'), info: writer('info'), warn: writer('warn'), error: writer('error') };
}

function asText(line: string, format: 'human' | 'journal', coloured: boolean): string {
  const record: LogRecord = JSON.parse(line);
  return `${format === 'journal' ? journalLine(record) : humanLine(record, coloured)}\n`;
}
