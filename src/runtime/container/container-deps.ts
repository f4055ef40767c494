import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';
import type { Finished, Processes } from '../../host/processes.ts';
import type { Random } from '../../host/random.ts';
import type { ImageStore } from '../images/image-store.ts';
import type { Nri } from '../nri/nri.ts';
import type { MonitoredName, OciRuntime, OciRuntimes } from '../oci/oci-runtime.ts';
import type { OciSpec } from '../oci/oci-spec.ts';
import type { RuntimePaths } from '../settings/runtime-paths.ts';
import type { SpecMachine, SpecRequest } from '../spec/spec-request.ts';
import type { IdMap, Snapshots } from '../storage/snapshots.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import type { EventSink } from '../store/event-sink.ts';
import type { OpenedStore, RecordStore } from '../store/record-store.ts';
import type { SandboxFiles, SandboxRecord } from '../store/sandbox-record.ts';

/** All that containers are made with; handed in by the composition root. */
export interface ContainerDeps {
  readonly clock: Clock;
  readonly random: Pick<Random, 'bytes' | 'fraction'>;
  readonly fs: FileSystem;
  readonly mounts: Mounts;
  readonly log: Log;
  readonly paths: RuntimePaths;
  readonly records: OpenedStore<ContainerRecord>;
  readonly sandboxes: SandboxView;
  readonly runtimes: OciRuntimes;
  readonly snapshots: Snapshots;
  readonly images: ImageStore;
  readonly nri: Nri;
  readonly events: EventSink;
  readonly machine: SpecMachine;
  /** Looks up what it needs, then decides. Rejects with a `CriError` that names the field which cannot be. */
  readonly buildSpec: (request: SpecRequest, signal: AbortSignal) => Promise<OciSpec>;
  /**
   * A command of an OCI runtime, with the folder in which that keeps its state: for what `OciRuntime` does not offer. A
   * non-zero exit is an answer.
   */
  readonly ociCommand: (program: string, args: readonly string[], signal: AbortSignal) => Promise<Finished>;
  readonly processes: Pick<Processes, 'run'>;
  /** /proc/sys/kernel/random/boot_id */
  readonly bootId: string;
}

/** Sandboxes as containers see them. */
export interface SandboxView extends Pick<RecordStore<SandboxRecord>, 'all' | 'find'> {
  filesOf(sandboxId: string): SandboxFiles;
}

export function rootfsOf(paths: Pick<RuntimePaths, 'bundle'>, id: string): string {
  return `${paths.bundle(id)}/rootfs`;
}

/** A mount point for each image volume, named by the index of its mount. */
export function volumesOf(paths: Pick<RuntimePaths, 'bundle'>, id: string): string {
  return `${paths.bundle(id)}/volumes`;
}

/** The same for each mount whose ids are mapped. */
export function mappedOf(paths: Pick<RuntimePaths, 'bundle'>, id: string): string {
  return `${paths.bundle(id)}/mapped`;
}

/** The same for each volume that the image declares. */
export function declaredOf(paths: Pick<RuntimePaths, 'bundle'>, id: string): string {
  return `${paths.bundle(id)}/declared`;
}

/** Whoever started it; the default where that handler is not configured any more. */
export function runtimeOf(runtimes: OciRuntimes, { runtimeHandler }: ContainerRecord): OciRuntime {
  const runtime = runtimes.handler(runtimeHandler) ?? runtimes.handler('');
  if (runtime) return runtime;
  throw new Error(`there is no runtime handler ${JSON.stringify(runtimeHandler)}`);
}

export function monitoredName(paths: Pick<RuntimePaths, 'bundle'>, id: string): MonitoredName {
  return { id, bundle: paths.bundle(id) };
}

/** In a namespace of its own all processes end with the first one. */
export function hasOwnPidNamespace({ spec }: ContainerRecord): boolean {
  return spec === undefined || spec.linux.namespaces.some(({ type, path }) => type === 'pid' && path === undefined);
}

/** How the ids of files are shifted for containers of this sandbox; absent: not at all. */
export function idMapOf(sandbox: SandboxRecord | undefined): IdMap | undefined {
  const user = sandbox?.namespaces.user;
  return user && { ...user.idMap, userNamespacePath: user.path };
}
