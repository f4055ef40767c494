import { posix } from 'node:path';
import { DEFAULT_PATH } from '../../base/default-path.ts';
import type { Cgroups } from '../../host/cgroups.ts';
import type { Clock } from '../../host/clock.ts';
import type { Fifos } from '../../host/fifos.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { PacketSockets } from '../../host/packet-sockets.ts';
import type { Finished, Processes } from '../../host/processes.ts';
import type { RuntimePaths } from '../settings/runtime-paths.ts';
import type { CompiledFilters } from './compiled-filters.ts';

/** What the parts of one OCI runtime have in common. */
export interface OciDeps {
  /** `/usr/bin/crun` */
  readonly program: string;
  /** `/usr/bin/conmon` */
  readonly monitorProgram: string;
  /** Where the runtime keeps its state; a folder for each program. */
  readonly stateRoot: string;
  readonly exits: string;
  readonly sockets: string;
  readonly clock: Clock;
  readonly fs: FileSystem;
  readonly fifos: Fifos;
  readonly processes: Processes;
  readonly cgroups: Cgroups;
  readonly packetSockets: PacketSockets;
  /** Present: the program was seen to do as crun does, and is spared what we can do ourselves. */
  readonly crun?: CrunWays;
}

export interface CrunWays {
  readonly filters: CompiledFilters;
}

/** What runtimes, monitors and hooks get of our environment. */
export const RUNTIME_ENV: Readonly<Record<string, string>> = { PATH: DEFAULT_PATH };

/** Where a program keeps the state of its containers. */
export function stateRootOf({ ociState }: Pick<RuntimePaths, 'ociState'>, program: string): string {
  return `${ociState}/${posix.basename(program)}`;
}

/** The runtime speaks a line or two; who writes more than this is no runtime. */
const MAX_WORDS_BYTES = 64 * 1024;

/** Runs one command of the runtime to its end. */
export function runRuntime(
  { program, stateRoot, processes }: Pick<OciDeps, 'program' | 'stateRoot' | 'processes'>,
  args: readonly string[],
  signal: AbortSignal,
): Promise<Finished> {
  const command = {
    program,
    args: [`--root=${stateRoot}`, ...args],
    env: RUNTIME_ENV,
    maxOutputBytes: MAX_WORDS_BYTES,
    sealed: true,
  };
  return processes.run(command, signal);
}
