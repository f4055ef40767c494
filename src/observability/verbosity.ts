/** pino's names of the log levels in use. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** The log level of `--v=N`: warnings and errors always, `info` from 2 on, `debug` from 4 on. */
export function levelOfVerbosity(verbosity: number): LogLevel {
  if (verbosity >= 4) return 'debug';
  return verbosity >= 2 ? 'info' : 'warn';
}
