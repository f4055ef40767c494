import { posix } from 'node:path';
import { DEFAULT_PATH } from '../../base/default-path.ts';
import type { Cgroups } from '../../host/cgroups.ts';
import type { Clock } from '../../host/clock.ts';
import type { Fifos } from '../../host/fifos.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { PacketSockets } from '../../host/packet-sockets.ts';
import type { CommandResult, Processes } from '../../host/processes.ts';
import type { RuntimePaths } from '../settings/runtime-paths.ts';
import type { MonitorScope } from './monitor-scope.ts';
import type { SeccompFilterCache } from './seccomp-filter-cache.ts';

/** Shared by the parts of one OCI runtime. */
export interface OciDeps {
  /** `/usr/bin/crun` */
  readonly program: string;
  /** `/usr/bin/conmon` */
  readonly monitorProgram: string;
  /** The runtime's state directory; one for each program. */
  readonly stateRoot: string;
  readonly exits: string;
  readonly sockets: string;
  readonly clock: Clock;
  readonly fs: FileSystem;
  readonly fifos: Fifos;
  readonly processes: Processes;
  readonly cgroups: Cgroups;
  readonly packetSockets: PacketSockets;
  /**
   * Present if the program was probed to behave as crun: then some of its commands are replaced with direct operations.
   */
  readonly crun?: CrunFastPath;
  /** Absent: systemd does not run this machine. */
  readonly monitorScope?: MonitorScope;
}

export interface CrunFastPath {
  readonly filters: SeccompFilterCache;
}

/** The environment of runtimes, monitors and hooks. */
export const RUNTIME_ENV: Readonly<Record<string, string>> = { PATH: DEFAULT_PATH };

/** Returns the state directory of a program. */
export function stateRootPath({ ociState }: Pick<RuntimePaths, 'ociState'>, program: string): string {
  return `${ociState}/${posix.basename(program)}`;
}

/** The runtime writes a line or two. */
const MAX_OUTPUT_BYTES = 64 * 1024;

/** Runs one command of the runtime to its end. */
export function runRuntime(
  { program, stateRoot, processes }: Pick<OciDeps, 'program' | 'stateRoot' | 'processes'>,
  args: readonly string[],
  signal: AbortSignal,
): Promise<CommandResult> {
  const command = {
    program,
    args: [`--root=${stateRoot}`, ...args],
    env: RUNTIME_ENV,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    sealed: true,
  };
  return processes.run(command, signal);
}
