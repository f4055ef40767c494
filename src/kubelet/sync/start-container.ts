import type { Container, EphemeralContainer, Pod } from '../../api/generated/core-v1.ts';
import type { ResourceList } from '../../api/pod-resources.ts';
import { errorText } from '../../base/error-text.ts';
import type { KeyedMutex } from '../../base/keyed-mutex.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { Device, ImageSpec, Mount, PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { containerFieldPath } from '../pod/container-field-path.ts';
import type { ContainerRunOptions } from '../pod/container-run-options.ts';
import { newestContainer, type ObservedPod } from '../pod/observed-pod.ts';
import { PodError, type PodErrorReason } from '../pod/pod-error.ts';
import { podLogDirectory } from '../pod/pod-paths.ts';
import type { HostFacts } from '../resources/host-facts.ts';
import type { ResourceRecords } from '../resources/resource-records.ts';
import { checkStopSignal } from './check-stop-signal.ts';
import { type ContainerConfigInput, type ContainerSettings, containerConfig } from './config/container-config.ts';
import type { EnvironmentSources } from './config/env-sources.ts';
import { containerEnvironment, type Environment } from './config/environment.ts';
import { runPostStart } from './post-start.ts';
import type { VolumeGroups } from './run-sandbox.ts';
import { startChannel } from './start-channel.ts';
import type { StopDeps } from './stop-pod.ts';

/** Everything about the pod that a container's configuration depends on. */
export interface ContainerStartContext {
  readonly pod: Pod;
  readonly sandboxId: string;
  readonly sandboxConfig: PodSandboxConfig;
  /** Primary first; the node's addresses for a pod on the host network. */
  readonly podIPs: readonly string[];
  /** The pod as observed before the start; holds restart counts and exit times. */
  readonly observed: ObservedPod | undefined;
}

/** Images of the image volumes that a container mounts, by name of the volume. */
export type VolumeImages = ReadonlyMap<string, ImageSpec>;

export interface StartDeps extends StopDeps {
  readonly fs: FileSystem;
  readonly settings: ContainerSettings & { readonly podLogsDir: string };
  readonly hostFacts: HostFacts;
  readonly allocatable: ResourceList;
  /** Pulls the image if needed. Rejects with a `PodError`. */
  readonly ensureImage: (
    context: ContainerStartContext,
    container: Container,
    signal: AbortSignal,
  ) => Promise<ContainerConfigInput['image']>;
  /** Pulls the images of the image volumes that the container mounts, if needed. Rejects with a `PodError`. */
  readonly ensureImageVolumes: (
    context: ContainerStartContext,
    container: Container,
    signal: AbortSignal,
  ) => Promise<VolumeImages>;
  /** Serializes the creation of a pod's containers with image volumes, by UID. */
  readonly imageVolumeCreations: Pick<KeyedMutex, 'run'>;
  /** Called when the container runs. `logPath` is relative to the pod's log directory. Must not reject. */
  readonly onContainerStarted: (pod: Pod, container: string, id: string, logPath: string) => Promise<void>;
  /** Records the resources that the container starts with. */
  readonly records: Pick<ResourceRecords, 'recordActuated'>;
  /** Objects and files that the container's environment variables refer to. */
  readonly envSources: (
    context: ContainerStartContext,
    container: Container,
    signal: AbortSignal,
  ) => Promise<EnvironmentSources>;
  /** Mounts of the container. Rejects with a `PodError`. */
  readonly mounts: (
    context: ContainerStartContext,
    container: Container,
    inputs: MountInputs,
    signal: AbortSignal,
  ) => Promise<readonly Mount[]>;
  /** CPUs, memory, devices and claims that the container was assigned. Rejects with a `PodError` or any other error. */
  readonly runOptions: (pod: Pod, container: Container, signal: AbortSignal) => Promise<ContainerRunOptions>;
  /** Block devices of the container. Throws a `PodError`. */
  readonly devices: (context: ContainerStartContext, container: Container) => readonly Device[];
  readonly volumeGroups: VolumeGroups;
}

/** What the mounts of a container depend on. */
export interface MountInputs {
  readonly environment: Environment;
  readonly volumeImages: VolumeImages;
}

/** Pulls the images, creates and starts the container, and runs its postStart hook. Rejects with a `PodError`. */
export async function startContainer(
  context: ContainerStartContext,
  container: Container,
  deps: StartDeps,
  signal: AbortSignal,
): Promise<void> {
  const { pod } = context;
  const { uid } = pod.metadata;
  const fieldPath = containerFieldPath(pod, container.name);
  const volumeImages = await asPodError(
    'CreateContainerConfigError',
    deps.ensureImageVolumes(context, container, signal),
    signal,
  );
  const image = await deps.ensureImage(context, container, signal);
  const { containerId, logPath } = await deps.timeline.during(uid, 'create container', container.name, async () => {
    const config = await asPodError(
      'CreateContainerConfigError',
      buildConfig(context, container, { image, volumeImages }, deps, signal),
      signal,
    );
    const request = { podSandboxId: context.sandboxId, config, sandboxConfig: context.sandboxConfig };
    const create = () => deps.runtime.createContainer(request, signal);
    // containerd cannot mount one image for two containers of a pod at once; kubelet creates all one after the other.
    const creating = volumeImages.size > 0 ? deps.imageVolumeCreations.run(uid, create) : create();
    const created = await asPodError('CreateContainerError', publishImageVolumes(volumeImages, creating), signal);
    return { containerId: created.containerId, logPath: config.logPath };
  });
  deps.events.record(pod, 'Normal', 'Created', 'Container created', fieldPath);
  await deps.timeline.during(uid, 'start container', container.name, () =>
    asPodError('RunContainerError', deps.runtime.startContainer({ containerId }, signal), signal, (text) =>
      text.replaceAll(containerId, container.name),
    ),
  );
  deps.events.record(pod, 'Normal', 'Started', 'Container started', fieldPath);
  await checkStopSignal(pod, container.name, containerId, deps, signal);
  await deps.onContainerStarted(pod, container.name, containerId, logPath);
  await runPostStart({ pod, container, containerId }, deps, signal);
}

/** Publishes whether the runtime mounted the images that the container mounts. */
async function publishImageVolumes<T>({ size: count }: VolumeImages, creating: Promise<T>): Promise<T> {
  if (count === 0) return creating;
  startChannel.publish({ kind: 'imageVolumesRequested', count });
  try {
    const created = await creating;
    startChannel.publish({ kind: 'imageVolumesMounted', count });
    return created;
  } catch (error) {
    if (isImageVolumeError(error)) startChannel.publish({ kind: 'imageVolumesFailed', count });
    throw error;
  }
}

/** The runtime's error begins with this text, as CRI defines it. */
function isImageVolumeError(error: unknown): boolean {
  return error instanceof CriError && error.message.startsWith('ImageVolumeMountFailed');
}

async function buildConfig(
  context: ContainerStartContext,
  container: Container,
  { image, volumeImages }: Pick<ContainerConfigInput, 'image'> & Pick<MountInputs, 'volumeImages'>,
  deps: StartDeps,
  signal: AbortSignal,
): Promise<ReturnType<typeof containerConfig>> {
  const { pod, podIPs, observed } = context;
  const { settings, hostFacts, allocatable } = deps;
  const { hostIPs, envFiles } = settings;
  const runOptions = await deps.runOptions(pod, container, signal);
  const devices = deps.devices(context, container);
  const sources = await deps.envSources(context, container, signal);
  const environment = containerEnvironment({ pod, container, podIPs, hostIPs, allocatable, sources, envFiles });
  const restartCount = await nextRestartCount(pod, container.name, observed, settings.podLogsDir, deps.fs);
  const mounts = await deps.mounts(context, container, { environment, volumeImages }, signal);
  await deps.records.recordActuated(pod, container);
  return containerConfig({
    pod,
    container,
    restartCount,
    image,
    targetId: targetContainerId(container, observed),
    podIPs,
    userNamespace: context.sandboxConfig.linux?.securityContext?.namespaceOptions?.usernsOptions,
    environment,
    mounts,
    devices,
    runOptions,
    extraGroups: deps.volumeGroups(pod),
    settings,
    host: hostFacts,
  });
}

/**
 * The restart count of the container's next instance. When the runtime does not list the container (a reboot), it is
 * derived from the log file names, so that old logs are not overwritten.
 */
async function nextRestartCount(
  pod: Pod,
  name: string,
  observed: ObservedPod | undefined,
  podLogsDir: string,
  fs: FileSystem,
): Promise<number> {
  const newest = newestContainer(observed, name);
  if (newest) return newest.restartCount + 1;
  const folder = `${podLogDirectory(podLogsDir, pod)}/${name}`;
  if (!(await fs.stat(folder))) return 0;
  const entries = await fs.readDirectory(folder);
  const counts = entries.flatMap((entry) => {
    const match = /^(\d+)\.log/.exec(entry.name);
    return match ? [Number(match[1])] : [];
  });
  return counts.reduce((next, count) => Math.max(next, count + 1), 0);
}

/** The id of the container whose processes an ephemeral container shares. */
function targetContainerId(
  { targetContainerName: name }: Container & Pick<EphemeralContainer, 'targetContainerName'>,
  observed: ObservedPod | undefined,
): string | undefined {
  if (!name) return undefined;
  const target = newestContainer(observed, name);
  if (!target) throw new Error(`unable to find target container ${name}`);
  return target.id;
}

/**
 * Converts an error of the runtime or the host to a `PodError`. `withoutId` removes ids from the event message, so that
 * repeated events are aggregated.
 */
async function asPodError<T>(
  reason: PodErrorReason,
  call: Promise<T>,
  signal: AbortSignal,
  withoutId = (text: string): string => text,
): Promise<T> {
  try {
    return await call;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof PodError) throw error;
    const text = error instanceof CriError ? error.message : errorText(error);
    throw new PodError(reason, text, { cause: error, eventMessage: `Error: ${withoutId(text)}` });
  }
}
