import type { LinuxContainerResources } from '../../cri/generated/runtime-v1.ts';
import type { OciResources, OciSpec } from '../oci/oci-spec.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';

/**
 * The Node Resource Interface: plugins that observe sandboxes and containers, and may adjust containers. A plugin that
 * does not respond in time or breaks its connection is disconnected; the others continue. A plugin that rejects a
 * request fails the operation (`CriError`) if it can still fail: events that happened or must happen (stop, remove,
 * post…) are only notifications, and errors of plugins are logged.
 *
 * Plugins are notified once of a stop, and only for objects that they know. So `stopContainer` is called when a
 * container was asked to stop and also when it ended by itself. A caller that gives up a created container calls
 * `removeContainer`: plugins that do not know of its stop are notified of that first.
 */
export interface Nri {
  /** To be called before the sandbox is listed. If it rejects, plugins were notified of the sandbox's removal. */
  runPodSandbox(pod: SandboxRecord, signal: AbortSignal): Promise<void>;
  /** To be called before the resources of a pod change; absent: unchanged. */
  updatePodSandbox(pod: SandboxRecord, update: PodResourcesUpdate, signal: AbortSignal): Promise<void>;
  postUpdatePodSandbox(pod: SandboxRecord, signal: AbortSignal): Promise<void>;
  stopPodSandbox(pod: SandboxRecord, signal: AbortSignal): Promise<void>;
  removePodSandbox(pod: SandboxRecord, signal: AbortSignal): Promise<void>;

  /**
   * To be called before the container is listed. Returns the adjusted specification and updates of other containers. If
   * it rejects, plugins were notified of the container's removal.
   */
  createContainer(
    pod: SandboxRecord,
    container: ContainerRecord,
    spec: OciSpec,
    signal: AbortSignal,
  ): Promise<AdjustedContainer>;
  postCreateContainer(pod: SandboxRecord, container: ContainerRecord, signal: AbortSignal): Promise<void>;
  startContainer(pod: SandboxRecord, container: ContainerRecord, signal: AbortSignal): Promise<void>;
  postStartContainer(pod: SandboxRecord, container: ContainerRecord, signal: AbortSignal): Promise<void>;
  /** Returns the adjusted values and updates of other containers. */
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
   * Serves the socket and the plugins until the signal aborts. All other calls wait until the plugins of the directory
   * have been started: no container is created without them.
   */
  run(signal: AbortSignal): Promise<void>;

  /**
   * Resolves when `run` has its socket: no container may be created before, because external plugins could not join.
   * Rejects with `NriSocketError` if the socket cannot be opened.
   */
  readonly listening: Promise<void>;
}

/** With NRI enabled, containers must not be created without it. */
export class NriSocketError extends Error {
  override readonly name = 'NriSocketError';
}

export interface PodResourcesUpdate {
  readonly overhead: LinuxContainerResources | undefined;
  readonly resources: LinuxContainerResources | undefined;
}

export interface AdjustedContainer {
  readonly spec: OciSpec;
  readonly updates: readonly NriUpdate[];
}

/** A plugin's change of another container's resources. */
export interface NriUpdate {
  readonly containerId: string;
  readonly resources: OciResources;
  /** A failure does not fail the operation. */
  readonly ignoreFailure: boolean;
}

/** The operations that NRI starts by itself. They are not awaited while an operation of the runtime waits for NRI. */
export interface NriRuntime {
  sandboxes(): readonly SandboxRecord[];
  containers(): readonly ContainerRecord[];
  update(update: NriUpdate, signal: AbortSignal): Promise<void>;
  /** Kills a container as StopContainer without grace does. */
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
