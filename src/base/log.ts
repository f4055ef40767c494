/**
 * The log of the agent: a constant message plus fields, never a sentence assembled from values. Code that throws an error
 * does not log it too.
 */
export interface Log {
  /** Shown from `--v=4` on. */
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** The log of a part of the program, whose verbosity `--vmodule` can set; absent: all parts have the same. */
  module?(name: string): Log;
}

/** The log of the module where there are modules. */
export function moduleLog(log: Log, name: string): Log {
  return log.module?.(name) ?? log;
}

/** `pod` is `namespace/name`; an `error` is shown with its causes. */
export type LogFields = Readonly<Record<string, unknown>>;

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };
