import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';
import type { CommandResult, Processes } from '../../host/processes.ts';
import type { Random } from '../../host/random.ts';
import type { ImageStore } from '../images/image-store.ts';
import type { Nri } from '../nri/nri.ts';
import type { ContainerRef, OciRuntime, OciRuntimes } from '../oci/oci-runtime.ts';
import type { OciSpec } from '../oci/oci-spec.ts';
import type { RuntimePaths } from '../settings/runtime-paths.ts';
import type { SpecMachine, SpecRequest } from '../spec/spec-request.ts';
import type { IdMap, Snapshotter } from '../storage/snapshotter.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import type { EventSink } from '../store/event-sink.ts';
import type { OpenedStore, RecordStore } from '../store/record-store.ts';
import type { SandboxFiles, SandboxRecord } from '../store/sandbox-record.ts';

/** Dependencies of containers, supplied by the composition root. */
export interface ContainerDeps {
  readonly clock: Clock;
  readonly random: Pick<Random, 'bytes' | 'fraction'>;
  readonly fs: FileSystem;
  readonly mounts: Mounts;
  readonly log: Log;
  readonly paths: RuntimePaths;
  readonly records: OpenedStore<ContainerRecord>;
  readonly sandboxes: SandboxLookup;
  readonly runtimes: OciRuntimes;
  readonly snapshots: Snapshotter;
  readonly images: ImageStore;
  readonly nri: Nri;
  readonly events: EventSink;
  readonly machine: SpecMachine;
  /** Gathers the facts it needs and builds the spec. Rejects with a `CriError` that names the invalid field. */
  readonly buildSpec: (request: SpecRequest, signal: AbortSignal) => Promise<OciSpec>;
  /**
   * Runs a command of an OCI runtime with its state directory, for commands that `OciRuntime` does not offer. A non-zero
   * exit code resolves.
   */
  readonly ociCommand: (
    runtime: Pick<OciRuntime, 'program' | 'stateRoot'>,
    args: readonly string[],
    signal: AbortSignal,
  ) => Promise<CommandResult>;
  readonly processes: Pick<Processes, 'run'>;
  /** /proc/sys/kernel/random/boot_id */
  readonly bootId: string;
}

/** Sandboxes as containers see them. */
export interface SandboxLookup extends Pick<RecordStore<SandboxRecord>, 'all' | 'find'> {
  filesOf(sandboxId: string): SandboxFiles;
}

export function rootfsPath(paths: Pick<RuntimePaths, 'bundle'>, id: string): string {
  return `${paths.bundle(id)}/rootfs`;
}

/** Directory with one mount point per image volume, named by the index of its mount. */
export function imageVolumesPath(paths: Pick<RuntimePaths, 'bundle'>, id: string): string {
  return `${paths.bundle(id)}/volumes`;
}

/** Directory with one mount point per ID-mapped mount. */
export function mappedMountsPath(paths: Pick<RuntimePaths, 'bundle'>, id: string): string {
  return `${paths.bundle(id)}/mapped`;
}

/** Directory with one mount point per volume that the image declares. */
export function declaredVolumesPath(paths: Pick<RuntimePaths, 'bundle'>, id: string): string {
  return `${paths.bundle(id)}/declared`;
}

export function monitoredName(paths: Pick<RuntimePaths, 'bundle'>, id: string): ContainerRef {
  return { id, bundle: paths.bundle(id) };
}

/** With its own PID namespace, all processes of the container end with the first one. */
export function hasOwnPidNamespace({ spec }: ContainerRecord): boolean {
  return spec === undefined || spec.linux.namespaces.some(({ type, path }) => type === 'pid' && path === undefined);
}

/** ID mapping for the files of the sandbox's containers; `undefined` without a user namespace. */
export function idMapForSandbox(sandbox: SandboxRecord | undefined): IdMap | undefined {
  const user = sandbox?.namespaces.user;
  return user && { ...user.idMap, userNamespacePath: user.path };
}
