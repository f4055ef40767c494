/** pino's names of the levels that the program uses. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** What `--v=N` shows: warnings and errors always, what happens from 2 on, and every detail from 4 on. */
export function levelOfVerbosity(verbosity: number): LogLevel {
  if (verbosity >= 4) return 'debug';
  return verbosity >= 2 ? 'info' : 'warn';
}
