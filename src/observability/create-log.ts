import { pino } from 'pino';
import { pathMatches } from '../base/go/path-match.ts';
import type { Log } from '../base/log.ts';
import { formatMicroTime } from '../base/rfc3339.ts';
import type { Clock } from '../host/clock.ts';
import { humanLine, journalLine, type LogRecord } from './human-line.ts';
import { klogJsonLine, klogLine } from './klog-line.ts';
import { loggedFields } from './log-record.ts';
import { type LogLevel, verbosityOf } from './verbosity.ts';

/**
 * `human` for a terminal, `journal` for systemd's journal, `json` (one record per line) for log collectors; `klog` and
 * `klogJson` are the formats of Kubernetes.
 */
export type LogFormat = 'human' | 'journal' | 'json' | 'klog' | 'klogJson';

export interface LogOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** kubelet's `--v`. */
  readonly verbosity: number;
  /** kubelet's `--vmodule`: a verbosity of its own for each module that matches. The first match counts. */
  readonly modules?: readonly ModuleVerbosity[];
  readonly format: LogFormat;
  readonly coloured?: boolean;
  /** Of this process, for klog's header. */
  readonly pid?: number;
  /** Gets whole lines, line feed included. */
  write(line: string, level: LogLevel): void;
}

export interface ModuleVerbosity {
  /** As in a shell: `server`, `*-manager`. */
  readonly filePattern: string;
  readonly verbosity: number;
}

export interface AdjustableLog extends Log {
  /** Does not affect modules with a verbosity of their own. */
  setVerbosity(verbosity: number): void;
  module(name: string): Log;
}

type Write = (message: string, fields?: Readonly<Record<string, unknown>>) => void;

/** Creates the program's log. Secret values are redacted, errors are shown with their causes. */
export function createLog(options: LogOptions): AdjustableLog {
  const { clock, modules = [] } = options;
  let verbosity = options.verbosity;
  const logger = pino(
    {
      level: 'debug',
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${formatMicroTime(clock.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line) => writeLine(line, options) },
  );
  const logOf = (module?: string): Log => {
    const own = modules.find(({ filePattern }) => module !== undefined && pathMatches(filePattern, module));
    const writer =
      (at: LogLevel): Write =>
      (message, fields = {}) => {
        if (verbosityOf(at) > (own?.verbosity ?? verbosity)) return;
        logger[at]({ ...(module !== undefined && { module }), fields: loggedFields(fields) }, message);
      };
    return { debug: writer('debug'), info: writer('info'), warn: writer('warn'), error: writer('error') };
  };
  return {
    ...logOf(),
    module: logOf,
    setVerbosity: (now) => {
      verbosity = now;
    },
  };
}

function writeLine(line: string, { format, coloured = false, pid = 0, write }: LogOptions): void {
  const record: LogRecord = JSON.parse(line);
  write(format === 'json' ? line : `${textOf(record, format, coloured, pid)}\n`, record.level);
}

function textOf(record: LogRecord, format: Exclude<LogFormat, 'json'>, coloured: boolean, pid: number): string {
  switch (format) {
    case 'human':
      return humanLine(record, coloured);
    case 'journal':
      return journalLine(record);
    case 'klog':
      return klogLine(record, pid);
    case 'klogJson':
      return klogJsonLine(record);
  }
}
