import { type Log, moduleLog } from '../base/log.ts';

/** The same parts with the log of a module: what `--vmodule` names. */
export function inModule<P extends { readonly log: Log }>(parts: P, name: ModuleName): P {
  return { ...parts, log: moduleLog(parts.log, name) };
}

/** The modules of the log, after the folders of the code. */
export type ModuleName =
  | 'cluster'
  | 'device-manager'
  | 'dra'
  | 'eviction'
  | 'gc'
  | 'images'
  | 'node'
  | 'objects'
  | 'plugins'
  | 'pods'
  | 'resources'
  | 'runtime'
  | 'server'
  | 'sources'
  | 'status';
