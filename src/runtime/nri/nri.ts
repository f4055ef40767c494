import type { LinuxContainerResources } from '../../cri/generated/runtime-v1.ts';
import type { OciResources, OciSpec } from '../oci/oci-spec.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';

/**
 * The Node Resource Interface: plugins that see sandboxes and containers, and may adjust these. A plugin that does not
 * answer in time, or breaks its connection, is let go; the others go on. A plugin that refuses makes the verb fail
 * (`CriError`), where it can still fail: what has happened or has to happen (stop, remove, post…) is only told, and what
 * plugins say to it is logged.
 *
 * Plugins are told once that something stopped, and only of what they have heard of. So `stopContainer` is to be called
 * when a container was asked to stop and also when it ended by itself, and who gives up a container that was created
 * here calls `removeContainer`: plugins that have not heard of its end are told that first.
 */
export interface Nri {
  /** Before the sandbox is shown to anybody. When it rejects, plugins have been told that the sandbox is gone again. */
  runPodSandbox(pod: SandboxRecord, signal: AbortSignal): Promise<void>;
  /** Before the resources of a whole pod change; absent: as they are. */
  updatePodSandbox(pod: SandboxRecord, update: PodResourcesUpdate, signal: AbortSignal): Promise<void>;
  postUpdatePodSandbox(pod: SandboxRecord, signal: AbortSignal): Promise<void>;
  stopPodSandbox(pod: SandboxRecord, signal: AbortSignal): Promise<void>;
  removePodSandbox(pod: SandboxRecord, signal: AbortSignal): Promise<void>;

  /**
   * Before the container is shown to anybody: what plugins make of its specification, and of other containers. When it
   * rejects, plugins have been told that the container is gone again.
   */
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

  /**
   * Serves its socket and its plugins until the signal aborts. All else waits from here on until the plugins that we
   * start have been asked to come up: no container is made behind their back.
   */
  run(signal: AbortSignal): Promise<void>;

  /**
   * Resolves when `run` has its socket: no container may be made before, for those outside who have a say in it could not
   * join. Rejects with an `NriSocketError` when it gets none.
   */
  readonly listening: Promise<void>;
}

/** Who asked for NRI must not get containers without it. */
export class NriSocketError extends Error {
  override readonly name = 'NriSocketError';
}

export interface PodResourcesUpdate {
  readonly overhead: LinuxContainerResources | undefined;
  readonly resources: LinuxContainerResources | undefined;
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

/** What NRI may ask of the runtime by itself. It waits for none of it while a verb of the runtime waits for NRI. */
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
  updatePodSandbox: async () => {},
  postUpdatePodSandbox: async () => {},
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
  listening: Promise.resolve(),
};
