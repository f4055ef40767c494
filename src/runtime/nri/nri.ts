import type { ContainerRecord } from '../container/container-record.ts';
import type { OciResources, OciSpec } from '../oci/oci-spec.ts';
import type { SandboxRecord } from '../sandbox/sandbox-record.ts';

/**
 * The Node Resource Interface: plugins that see sandboxes and containers, and may adjust these. A plugin that does not
 * answer in time, or breaks its connection, is let go; the others go on. A plugin that refuses makes the verb fail.
 */
export interface Nri {
  runPodSandbox(pod: SandboxRecord, signal: AbortSignal): Promise<void>;
  stopPodSandbox(pod: SandboxRecord, signal: AbortSignal): Promise<void>;
  removePodSandbox(pod: SandboxRecord, signal: AbortSignal): Promise<void>;

  /** Before the container exists: what plugins make of its specification, and of other containers. */
  createContainer(
    pod: SandboxRecord,
    container: ContainerRecord,
    spec: OciSpec,
    signal: AbortSignal,
  ): Promise<NriAdjusted>;
  postCreateContainer(pod: SandboxRecord, container: ContainerRecord, signal: AbortSignal): Promise<void>;
  startContainer(pod: SandboxRecord, container: ContainerRecord, signal: AbortSignal): Promise<void>;
  postStartContainer(pod: SandboxRecord, container: ContainerRecord, signal: AbortSignal): Promise<void>;
  /** The values as plugins want them, and updates of other containers. */
  updateContainer(
    pod: SandboxRecord,
    container: ContainerRecord,
    resources: OciResources,
    signal: AbortSignal,
  ): Promise<{ readonly resources: OciResources; readonly updates: readonly NriUpdate[] }>;
  postUpdateContainer(pod: SandboxRecord, container: ContainerRecord, signal: AbortSignal): Promise<void>;
  stopContainer(pod: SandboxRecord, container: ContainerRecord, signal: AbortSignal): Promise<readonly NriUpdate[]>;
  removeContainer(pod: SandboxRecord, container: ContainerRecord, signal: AbortSignal): Promise<void>;

  /** Serves its socket and its plugins until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

export interface NriAdjusted {
  readonly spec: OciSpec;
  readonly updates: readonly NriUpdate[];
}

/** A plugin wants another container's resources changed. */
export interface NriUpdate {
  readonly containerId: string;
  readonly resources: OciResources;
  /** Its failure does not fail the verb. */
  readonly ignoreFailure: boolean;
}

/** What NRI may ask of the runtime by itself. */
export interface NriRuntime {
  sandboxes(): readonly SandboxRecord[];
  containers(): readonly ContainerRecord[];
  update(update: NriUpdate, signal: AbortSignal): Promise<void>;
  /** Ends a container as StopContainer without grace does. */
  evict(containerId: string, reason: string, signal: AbortSignal): Promise<void>;
}

/** No plugins: the default. */
export const noNri: Nri = {
  runPodSandbox: async () => {},
  stopPodSandbox: async () => {},
  removePodSandbox: async () => {},
  createContainer: async (_pod, _container, spec) => ({ spec, updates: [] }),
  postCreateContainer: async () => {},
  startContainer: async () => {},
  postStartContainer: async () => {},
  updateContainer: async (_pod, _container, resources) => ({ resources, updates: [] }),
  postUpdateContainer: async () => {},
  stopContainer: async () => [],
  removeContainer: async () => {},
  run: async () => {},
};
