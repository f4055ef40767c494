import type { Container, EphemeralContainer, Pod } from '../../api/generated/core-v1.ts';
import type { ResourceList } from '../../api/pod-resources.ts';
import { errorText } from '../../base/error-text.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { Mount, PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { containerFieldPath } from '../pod/container-field-path.ts';
import { newestContainer, type ObservedPod } from '../pod/observed-pod.ts';
import { PodError, type PodErrorReason } from '../pod/pod-error.ts';
import type { HostFacts } from '../resources/host-facts.ts';
import type { ResourceRecords } from '../resources/resource-records.ts';
import { checkStopSignal } from './check-stop-signal.ts';
import { type ContainerConfigInput, type ContainerSettings, containerConfig } from './config/container-config.ts';
import type { EnvironmentSources } from './config/env-sources.ts';
import { containerEnvironment, type Environment } from './config/environment.ts';
import { runPostStart } from './post-start.ts';
import { nextRestartCount } from './restart-count.ts';
import type { StopDeps } from './stop-pod.ts';

/** Where a container begins: everything about its pod that its configuration depends on. */
export interface ContainerStartContext {
  readonly pod: Pod;
  readonly sandboxId: string;
  readonly sandboxConfig: PodSandboxConfig;
  /** Primary first; the node's own for a pod on the host network. */
  readonly podIPs: readonly string[];
  /** As last seen before the start: tells how often the container ran. */
  readonly observed: ObservedPod | undefined;
}

export interface StartDeps extends StopDeps {
  readonly fs: FileSystem;
  readonly settings: ContainerSettings & { readonly podLogsDir: string };
  readonly hostFacts: HostFacts;
  readonly allocatable: ResourceList;
  /** Makes sure that the image is there. Rejects with a `PodError`. */
  readonly image: (
    place: ContainerStartContext,
    container: Container,
    signal: AbortSignal,
  ) => Promise<ContainerConfigInput['image']>;
  /** The container runs and has a log file, at a path below the folder of the pod's logs. Must not reject. */
  readonly started: (pod: Pod, container: string, id: string, logPath: string) => Promise<void>;
  /** What the container is about to be given. */
  readonly records: Pick<ResourceRecords, 'actuate'>;
  /** What the variables of the container refer to. */
  readonly envSources: (
    place: ContainerStartContext,
    container: Container,
    signal: AbortSignal,
  ) => Promise<EnvironmentSources>;
  /** What is mounted into the container. Rejects with a `PodError`. */
  readonly mounts: (
    place: ContainerStartContext,
    container: Container,
    environment: Environment,
    signal: AbortSignal,
  ) => Promise<readonly Mount[]>;
}

/** Image, configuration, create, start, postStart hook; each a step of the pod's timeline. Rejects with a `PodError`. */
export async function startContainer(
  place: ContainerStartContext,
  container: Container,
  deps: StartDeps,
  signal: AbortSignal,
): Promise<void> {
  const { pod } = place;
  const { uid } = pod.metadata;
  const fieldPath = containerFieldPath(pod, container.name);
  const image = await deps.image(place, container, signal);
  const { containerId, logPath } = await deps.timeline.during(uid, 'create container', container.name, async () => {
    const config = await asPodError('CreateContainerConfigError', buildConfig(place, container, image, deps, signal), signal);
    const request = { podSandboxId: place.sandboxId, config, sandboxConfig: place.sandboxConfig };
    const created = await asPodError('CreateContainerError', deps.runtime.createContainer(request, signal), signal);
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
  await deps.started(pod, container.name, containerId, logPath);
  await runPostStart({ pod, container, containerId }, deps, signal);
}

async function buildConfig(
  place: ContainerStartContext,
  container: Container,
  image: ContainerConfigInput['image'],
  deps: StartDeps,
  signal: AbortSignal,
): Promise<ReturnType<typeof containerConfig>> {
  const { pod, podIPs, observed } = place;
  const { settings, hostFacts, allocatable } = deps;
  const { hostIPs, envFiles } = settings;
  const sources = await deps.envSources(place, container, signal);
  const environment = containerEnvironment({ pod, container, podIPs, hostIPs, allocatable, sources, envFiles });
  const restartCount = await nextRestartCount(pod, container.name, observed, settings.podLogsDir, deps.fs);
  const mounts = await deps.mounts(place, container, environment, signal);
  await deps.records.actuate(pod, container);
  return containerConfig({
    pod,
    container,
    restartCount,
    image,
    targetId: targetContainerId(container, observed),
    podIPs,
    userNamespace: place.sandboxConfig.linux?.securityContext?.namespaceOptions?.usernsOptions,
    environment,
    mounts,
    settings,
    host: hostFacts,
  });
}

/** The id of the container that an ephemeral one wants to look into. */
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
 * Turns what the runtime or the machine refuses into what kubelet says of it. An event names no id: it could not be
 * counted together with the next one.
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
