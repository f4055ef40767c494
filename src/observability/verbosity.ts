/** pino's names of the log levels in use. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

const VERBOSITIES: Readonly<Record<LogLevel, number>> = { debug: 4, info: 2, warn: 0, error: 0 };

/** The lowest `--v=N` that shows the level: warnings and errors always, `info` from 2 on, `debug` from 4 on. */
export function verbosityOf(level: LogLevel): number {
  return VERBOSITIES[level];
}
