import type { FileSystem } from '../../host/file-system.ts';
import type { Processes, ProcessIdentity } from '../../host/processes.ts';
import { type DaemonRecord, parseDaemonRecord } from './daemon-record.ts';
import { findProcesses } from './find-processes.ts';
import type { RuntimePaths } from './runtime-paths.ts';

export interface FoundDaemon {
  readonly record: DaemonRecord | undefined;
  /** The living daemon on these paths, if there is one. */
  readonly identity: ProcessIdentity | undefined;
}

export interface FindDaemonParts {
  readonly fs: FileSystem;
  readonly processes: Processes;
  readonly paths: RuntimePaths;
}

/**
 * The daemon of an earlier start. One that was started by a process that died before it could write the record is
 * found by its command line: a second one would wait for its database lock for ever.
 */
export async function findDaemon(parts: FindDaemonParts): Promise<FoundDaemon> {
  const { fs, processes, paths } = parts;
  const record = (await fs.stat(paths.record)) && parseDaemonRecord(await fs.readText(paths.record));
  if (record && isSame(await processes.identify(record.pid), record)) return { record, identity: record };
  return { record, identity: await daemonByCommandLine(parts) };
}

export function daemonArguments({ config }: RuntimePaths): readonly string[] {
  return ['--config', config];
}

function isSame(a: ProcessIdentity | undefined, b: ProcessIdentity): boolean {
  return a?.pid === b.pid && a.startTime === b.startTime;
}

async function daemonByCommandLine(parts: FindDaemonParts): Promise<ProcessIdentity | undefined> {
  const wanted = daemonArguments(parts.paths).join('\0');
  const isDaemon = (program: string, args: readonly string[]): boolean =>
    /(^|\/)containerd$/.test(program) && args.join('\0') === wanted;
  return (await findProcesses(parts, isDaemon))[0];
}
